import { run } from '#shared/process/run.ts';

/**
 * A network namespace whose loopback passes `rate` (`1gbit`), as the link of one image server does.
 * @param use gets what a command begins with that is to run in it
 */
export async function withSlowLoopback<T>(rate: string, use: (inside: readonly string[]) => Promise<T>): Promise<T> {
  const name = `baton-bench-${process.pid}`;
  await run('ip', ['netns', 'add', name]);
  try {
    await run('ip', ['-n', name, 'link', 'set', 'lo', 'up']);
    const shape = ['root', 'tbf', 'rate', rate, 'burst', '256k', 'limit', '64mb'];
    await run('tc', ['-n', name, 'qdisc', 'add', 'dev', 'lo', ...shape]);
    return await use(['ip', 'netns', 'exec', name]);
  } finally {
    await run('ip', ['netns', 'del', name]);
  }
}
