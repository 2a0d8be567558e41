/**
 * Resolves after every timer that is overdue has run. A process that was paused (SIGSTOP, a frozen virtual machine)
 * first goes on with the answers that came in meanwhile, and only then learns from its timers that its time is over: who
 * waits here before acting on the outside world learns it in time.
 */
export function overdueTimers(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0);
  });
}
