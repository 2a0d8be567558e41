/** A line of what a long test is at, with the time. */
export function say(line: string): void {
  process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);
}
