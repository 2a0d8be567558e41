import { writeFile } from 'node:fs/promises';
import { z } from 'zod';
import { defineCommand } from '#agent/commands/command.ts';
import { partitionUuids } from '#agent/image/written-image.ts';

const noParams = z.strictObject({});

/** What is written reaches the disks: the conductor cuts the power next. */
export const sync = defineCommand({
  kind: 'sync',
  params: noParams,
  run: async ({ run, log }) => {
    await run('sync', [], { timeoutMs: 600_000, log });
    return null;
  },
});

/** For the answer to the command to leave the machine. */
const answerGraceMs = 500;

/** Switches the machine off. */
export const powerOff = defineCommand({
  kind: 'async',
  params: noParams,
  run: async ({ run, clock, log, say, signal }) => {
    await run('sync', [], { timeoutMs: 600_000, log });
    say('powering off');
    await clock.sleep(answerGraceMs, signal);
    try {
      await run('poweroff', ['-f'], { log });
    } catch (error) {
      log.warn({ err: error }, 'poweroff failed, asking the kernel itself');
      await writeFile('/proc/sysrq-trigger', 'o');
    }
    return null;
  },
});

/** The ids of the partitions of the image written last; `{}` before that. */
export const getPartitionUuids = defineCommand({
  kind: 'sync',
  params: noParams,
  run: ({ writtenImage }) => Promise.resolve(partitionUuids(writtenImage)),
});
