import { runConductor } from '#conductor/start/start-conductor.ts';

/**
 * A conductor's process that dies the hard way at its n-th checkpoint (`CRASH_AT_CHECKPOINT=7`: after a step event is
 * committed, or a step has acted), or at the n-th after a signal (`SIGUSR2+7`).
 */
const [count, signal] = (process.env['CRASH_AT_CHECKPOINT'] ?? '').split('+').toReversed();
let left = signal === undefined && count !== '' ? Number(count) : Infinity;

void runConductor(process.env, (log) => {
  if (signal !== undefined) {
    process.on('SIGUSR2', () => {
      left = Number(count);
      log.info({ checkpoint: left }, 'counting checkpoints');
    });
  }
  return {
    checkpoint: () => {
      left -= 1;
      if (left === 0) process.kill(process.pid, 'SIGKILL');
    },
  };
});
