/** One short line for the ramdisk's console, where an operator watches; the log has the same with all its fields. */
export type Say = (line: string) => void;

/** `0.4 s`, `83 s`, `12 min 5 s` */
export function formatDuration(ms: number): string {
  const seconds = ms / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
}
