"""The process backend: the learner in a process that can be killed."""
