import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SwitchLogin } from '#conductor/networks/switch-driver.ts';
import { findSwitchDriver } from '#conductor/networks/switches/index.ts';
import { testSwitchDriver } from '#conductor/networks/switches/switch.contract.ts';
import { run, start } from '#shared/process/run.ts';
import { freshLinux, programs } from '#test/simulators/switch/program-switch.ts';
import { split } from '#test/simulators/switch/under-test.ts';
import { freePort } from '#test/support/free-port.ts';

/**
 * The `linux` driver over OpenSSH's own server, by key; `bridge` is simulated, for this machine's kernel may have none. Needs
 * root: sshd and what the driver writes below /var/lib are in a mount namespace of their own.
 */

interface SshSwitch {
  readonly endpoint: string;
  readonly login: SwitchLogin;
  readonly env: { readonly SWITCH_STATE: string; readonly PATH: string };
  stop(): Promise<void>;
}

async function startSshSwitch(ports: readonly string[]): Promise<SshSwitch> {
  const folder = await mkdtemp(join(tmpdir(), 'baton-sshd-'));
  const at = (name: string): string => join(folder, name);
  const env = { SWITCH_STATE: at('switch.json'), PATH: `${programs}:/usr/sbin:/usr/bin:/sbin:/bin` };
  for (const key of ['host', 'baton']) await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', at(key)]);
  await writeFile(env.SWITCH_STATE, JSON.stringify(freshLinux(ports)));
  const port = await freePort();
  const config = [
    `ListenAddress 127.0.0.1:${port}`,
    `HostKey ${at('host')}`,
    `AuthorizedKeysFile ${at('baton.pub')}`,
    'PidFile none',
    'StrictModes no',
    'PasswordAuthentication no',
    `SetEnv HOME=${folder} ${Object.entries(env)
      .map(([name, value]) => `${name}=${value}`)
      .join(' ')}`,
  ];
  await writeFile(at('sshd_config'), `${config.join('\n')}\n`);
  const mounts = 'mount -t tmpfs none /var/lib; mount -t tmpfs none /run; mkdir /run/sshd';
  const sshd = start('unshare', ['-m', 'sh', '-ec', `${mounts}; exec /usr/sbin/sshd -D -e -f ${at('sshd_config')}`]);
  sshd.stdout.resume();
  sshd.stderr.resume();
  const stop = async (): Promise<void> => {
    sshd.kill('SIGTERM');
    await sshd.exited;
    await rm(folder, { recursive: true, force: true });
  };
  const { stdout } = await run('ssh-keygen', ['-lf', at('host.pub')]);
  const privateKey = await readFile(at('baton'), 'utf8');
  const login = { username: 'root', privateKey: async () => privateKey, hostKey: stdout.split(' ')[1] };
  const endpoint = `ssh:127.0.0.1:${port}`;
  for (let tries = 0; ; tries += 1) {
    const connection = findSwitchDriver('linux').connect({ endpoint, login });
    try {
      await connection.readPorts(ports.slice(0, 1));
      return { endpoint, login, env, stop };
    } catch (error) {
      if (tries === 50) {
        await stop();
        throw error;
      }
      await sleep(200);
    } finally {
      await connection.close();
    }
  }
}

const ports = Array.from({ length: 48 }, (_, index) => `swp${index + 1}`);

testSwitchDriver(
  'linux over OpenSSH',
  async () => {
    const real = await startSshSwitch(ports);
    return {
      driver: findSwitchDriver('linux'),
      access: { endpoint: real.endpoint, login: real.login },
      ...split(ports),
      setByHand: async (port, vlan) => {
        const lines = [`vlan del dev ${port} vid 1-4094`, `vlan add dev ${port} vid ${vlan} pvid untagged`];
        const command = `bridge -batch - <<'END'\n${lines.join('\n')}\nEND`;
        await run('sh', ['-c', command], { env: real.env });
      },
      deadEndpoint: 'ssh:127.0.0.1:1',
      stop: () => real.stop(),
    };
  },
  { modes: ['lacp', 'static'], pairs: [] },
);

let real: SshSwitch;
beforeAll(async () => {
  real = await startSshSwitch(['swp1']);
});
afterAll(() => real?.stop());

async function reading(changes: Partial<SwitchLogin>): Promise<unknown> {
  const login = { ...real.login, ...changes };
  const connection = findSwitchDriver('linux').connect({ endpoint: real.endpoint, login });
  try {
    return await connection.readPorts(['swp1']);
  } finally {
    await connection.close();
  }
}

test('OpenSSH’s host key is refused unless it is the pinned one', async () => {
  await expect(reading({ hostKey: `SHA256:${'a'.repeat(43)}` })).rejects.toThrow(real.login.hostKey);
});

test('a key that OpenSSH does not know is refused for good', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'baton-key-'));
  await run('ssh-keygen', ['-q', '-t', 'ecdsa', '-N', '', '-f', join(folder, 'key')]);
  const other = await readFile(join(folder, 'key'), 'utf8');
  await rm(folder, { recursive: true });
  await expect(reading({ privateKey: async () => other })).rejects.toMatchObject({
    code: 'switch_error',
    retryable: false,
  });
});
