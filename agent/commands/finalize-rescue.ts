import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { encrypt } from 'unixcrypt';
import { z } from 'zod';
import { AgentFault } from '#agent/commands/agent-fault.ts';
import { type CommandDefinition, defineCommand } from '#agent/commands/command.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';

/** Program of the ramdisk (`image-build`): the SSH server and fresh addresses, outside of the agent's control group. */
const startRescue = '/usr/lib/baton/start-rescue';

/**
 * `rescue.finalize_rescue` (agent-protocol.md §4.1): the user `rescue` may log in over SSH with the password, and the
 * agent stops serving: the machine is its rescuer's.
 * @param etc the machine's `/etc`
 */
export function finalizeRescue(etc = '/etc'): CommandDefinition {
  return defineCommand({
    kind: 'sync',
    params: z.strictObject({ rescue_password: z.string().min(1), hashed: z.boolean().default(false) }),
    run: async ({ run, say, standAside }, params) => {
      const line = hashedLine(params.rescue_password, params.hashed);
      // nowhere but in the ramdisk may an account be made: agents run elsewhere too, in tests and by hand
      await run(startRescue, ['check']);
      await addLine(join(etc, 'passwd'), passwdLine, 0o644);
      await addLine(join(etc, 'shadow'), line, 0o600);
      await run(startRescue, []);
      say(`rescue: log in over SSH as ${rescueUser}; the agent stops serving`);
      standAside();
      return null;
    },
  });
}

function hashedLine(password: string, hashed: boolean): string {
  try {
    return shadowLine(password, hashed);
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'invalid_argument')) throw error;
    throw new AgentFault('InvalidCommandParamsError', errorChain(error), error);
  }
}

async function addLine(path: string, line: string, mode: number): Promise<void> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  await writeFile(path, withLine(text, line), { mode });
  await chmod(path, mode); // `mode` above is for a new file only
}

/** User who may log in to a machine under rescue; as in Ironic's ramdisks. */
const rescueUser = 'rescue';

/** In `/etc/passwd`: another name of root's, for repairing a system takes all rights. */
const passwdLine = `${rescueUser}:x:0:0:rescue:/root:/bin/sh`;

/**
 * In `/etc/shadow`.
 * @param password as the conductor sent it: hashed by crypt(3), or in the clear
 * @throws AppError `invalid_argument` for what is not a hash, so that nobody is left before a login that takes no password
 */
function shadowLine(password: string, hashed: boolean): string {
  return `${rescueUser}:${hashed ? checkedHash(password) : encrypt(checkedText(password))}:::::::`;
}

/** The files' text with our line at its end, and none that an earlier rescue of this boot has left. */
function withLine(text: string, line: string): string {
  const others = text.split('\n').filter((each) => each !== '' && !each.startsWith(`${rescueUser}:`));
  return `${[...others, line].join('\n')}\n`;
}

function checkedHash(password: string): string {
  if (/^\$(5|6|y|2[aby])\$[./A-Za-z0-9$=,]{20,}$/.test(password)) return password;
  throw new AppError(
    'invalid_argument',
    'rescue_password: with hashed it must be a hash of crypt(3), $6$…, $5$…, $y$… or $2b$…',
  );
}

function checkedText(password: string): string {
  if (password !== '' && !/[\0\n]/.test(password)) return password;
  throw new AppError('invalid_argument', 'rescue_password: it must not be empty or contain a line break or NUL');
}
