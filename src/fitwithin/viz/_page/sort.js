// Sort each sortable table by the column whose heading is clicked; empty cells come last.
document.querySelectorAll('table.sortable').forEach(table => {
  const headings = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  headings.forEach((heading, column) => heading.querySelector('button').addEventListener('click', () => {
    const up = heading.getAttribute('aria-sort') !== 'ascending';
    headings.forEach(other => other.removeAttribute('aria-sort'));
    heading.setAttribute('aria-sort', up ? 'ascending' : 'descending');
    const value = row => row.cells[column].dataset.value;
    const compare = (one, other) => {
      if (value(one) === '' || value(other) === '') return (value(one) === '') - (value(other) === '');
      return (up ? 1 : -1) * (Number(value(one)) - Number(value(other)));
    };
    body.append(...[...body.rows].sort(compare));
  }));
});
