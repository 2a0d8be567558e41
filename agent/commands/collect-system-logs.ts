import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { z } from 'zod';
import { type CommandServices, defineCommand } from '#agent/commands/command.ts';
import { hideTokenParameter } from '#agent/commands/mask-secrets.ts';
import { errorChain } from '#shared/errors/app-error.ts';

/** File in the archive → the program whose output it holds. */
const sources: Readonly<Record<string, readonly [string, ...string[]]>> = {
  dmesg: ['dmesg'],
  lsblk: ['lsblk', '--all', '--output-all', '--json'],
  df: ['df', '-a'],
  ps: ['ps'],
  'ip-addr': ['ip', 'addr'],
  'ip-route': ['ip', 'route'],
  efibootmgr: ['efibootmgr', '-v'],
  mdstat: ['cat', '/proc/mdstat'],
  meminfo: ['cat', '/proc/meminfo'],
  cmdline: ['cat', '/proc/cmdline'],
  lspci: ['lspci'],
};

export type LogSources = Pick<CommandServices, 'run' | 'recentLog'>;

export const collectSystemLogs = defineCommand({
  kind: 'sync',
  params: z.strictObject({}),
  whileBusy: true,
  run: async (services) => ({ system_logs: await packSystemLogs(services) }),
});

/** Packs what someone needs to find out why a step failed, as base64 of a tar.gz. */
export async function packSystemLogs(services: LogSources): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'baton-logs-'));
  try {
    const content = join(directory, 'content.tar');
    const names = [...Object.keys(sources), 'agent.log'];
    await writeFile(join(directory, 'agent.log'), hideTokenParameter(services.recentLog()));
    for (const [name, argv] of Object.entries(sources)) {
      await writeFile(join(directory, name), hideTokenParameter(await outputOf(services, argv)));
    }
    await services.run('tar', ['-cf', content, '-C', directory, ...names]);
    // gzip here: busybox's tar would need another program for it
    const packed = await promisify(gzip)(await readFile(content));
    return packed.toString('base64');
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** A program's output, or why there is none: a missing tool must not cost the other logs. */
async function outputOf(services: LogSources, argv: readonly [string, ...string[]]): Promise<string> {
  try {
    const [command, ...args] = argv;
    const { stdout, stderr } = await services.run(command, args, { timeoutMs: 10_000 });
    return hideTokenParameter(`${stdout}${stderr}`);
  } catch (error) {
    return `${errorChain(error)}\n`;
  }
}
