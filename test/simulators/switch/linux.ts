import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '#shared/process/run.ts';
import { type SwitchServer, startSwitchServer } from '#test/simulators/switch/switch-server.ts';

/** A Linux computer as a switch: a real shell runs the commands, on a `bridge` program that has its ports in a file. */
export interface LinuxSwitch extends SwitchServer {
  /** The ports' VLANs with their flags. */
  ports(): Promise<Record<string, { isolated: boolean; vlans: Record<string, string[]> }>>;
  /** As somebody else would run it. */
  bridge(...lines: string[]): Promise<void>;
  reboot(): Promise<void>;
}

export async function startLinuxSwitch(options: { readonly ports: readonly string[] }): Promise<LinuxSwitch> {
  const folder = await mkdtemp(join(tmpdir(), 'baton-switch-'));
  const stateFile = join(folder, 'ports.json');
  const fresh = JSON.stringify(Object.fromEntries(options.ports.map((port) => [port, { isolated: false, vlans: {} }])));
  await writeFile(stateFile, fresh);
  const env = { SWITCH_STATE: stateFile, PATH: `${join(import.meta.dirname, 'bin')}:${process.env['PATH'] ?? ''}` };
  const shell = async (command: string) => {
    const there = command.replaceAll('/var/lib/baton', join(folder, 'baton'));
    const result = await run('sh', ['-c', there], { env, okExitCodes: Array.from({ length: 256 }, (_, code) => code) });
    return { stdout: result.stdout, stderr: result.stderr, code: result.exitCode };
  };
  const batch = (file: string) => shell(`if [ -f ${file} ]; then bridge -batch - < ${file}; fi`);
  const server = await startSwitchServer({ run: shell });
  return {
    ...server,
    ports: async () => JSON.parse(await readFile(stateFile, 'utf8')),
    bridge: async (...lines) => void (await shell(`bridge -batch - <<'END'\n${lines.join('\n')}\nEND`)),
    reboot: async () => {
      await writeFile(stateFile, fresh);
      await batch('/var/lib/baton/ports.batch');
    },
    stop: async () => {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
