import { readFile } from 'node:fs/promises';

/** User and system time of a process; Linux counts in hundredths. */
export async function cpuSeconds(pid: number): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Resident now, or (`VmHWM`) the most there ever was. */
export async function residentMegabytes(pid: number, which: 'VmRSS' | 'VmHWM'): Promise<number> {
  const kilobytes = new RegExp(`^${which}:\\s+(\\d+) kB$`, 'm').exec(
    await readFile(`/proc/${pid}/status`, 'utf8'),
  )?.[1];
  if (kilobytes === undefined) throw new Error(`no ${which} of process ${pid}`);
  return Math.round((Number(kilobytes) * 1024) / 1e5) / 10;
}

/** How many processes wanted a core in the last minute: figures from a machine that others use say so. */
export async function loadAverage(): Promise<string> {
  return (await readFile('/proc/loadavg', 'utf8')).split(' ')[0] ?? '';
}
