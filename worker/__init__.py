"""The RQ worker that runs jobs and survives crashes, shutdowns and outages; and `lens answers`. No route comes in.

process, parent     waits for jobs, forks a work-horse for each, and sees to its end
jobs                one job: claimed, run from a checkpoint or afresh, ended; what each way to end means
model_loading       the model of a job
heartbeat           renews the lease and writes progress and checkpoints while the run computes
faults              whose an error is
inspection          what is looked at before work is taken
answering           the process that holds models and answers at once; it claims nothing
"""
