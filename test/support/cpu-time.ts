/**
 * Milliseconds for which this thread has computed so far: other than the time of day it does not grow while a busy machine
 * runs something else.
 */
export function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
