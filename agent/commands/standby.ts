import { writeFile } from 'node:fs/promises';
import { z } from 'zod';
import { commandNode, defineCommand, nodeParam } from '#agent/commands/command.ts';
import { partitionUuids } from '#agent/image-means/written-image.ts';
import { loadSystem } from '#agent/kexec/load-system.ts';

const noParams = z.strictObject({});

/** Has all that is written reach the disks: the conductor cuts the power next. */
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

/** A program of the ramdisk (`image-build`), outside of the agent's control group. */
const park = '/usr/lib/baton/park';

/**
 * Not in Ironic: makes the machine ready to go into the deployed system by kexec. It does so when its power button is
 * pressed, by then on a network where no command reaches it; if that is not within `seconds`, it powers off.
 */
export const parkForKexec = defineCommand({
  kind: 'async',
  params: z.strictObject({ node: nodeParam, seconds: z.int().min(1).max(3600) }),
  run: async (services, { node, seconds }) => {
    const { run, writtenImage, say } = services;
    // before anything is touched, and nowhere but in the ramdisk
    await run(park, ['check']);
    const system = await loadSystem({ run, writtenImage, node: commandNode(services, node) });
    say(`loaded ${system.kernel} of the deployed system`);
    await run(park, [String(seconds)]);
    const { entry, kernel, initrds, commandLine } = system;
    return { kexec_result: { entry, kernel, initrds, command_line: commandLine } };
  },
});
