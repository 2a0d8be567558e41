import type { AddressInfo } from 'node:net';
import ssh2 from 'ssh2';
import { fingerprint } from '#shared/peers/host-key.ts';
import { talkAsMachine } from '#test/simulators/redfish/serial-console.ts';

export interface SshConsole {
  /** For the simulator's `serialConsole`. */
  readonly offer: object;
  readonly hostKey: string;
  /** Commands that came first in each shell. */
  readonly commands: readonly string[];
  close(): void;
}

/** A BMC's shell over SSH, admin and secret, where a command leads to the serial line. */
export async function startSshConsole(): Promise<SshConsole> {
  const commands: string[] = [];
  const { private: hostKey } = ssh2.utils.generateKeyPairSync('ecdsa', { bits: 256 });
  const parsed = ssh2.utils.parseKey(hostKey);
  if (parsed instanceof Error) throw parsed;
  const server = new ssh2.Server({ hostKeys: [hostKey] }, (client) => {
    client.on('error', () => undefined);
    client.on('authentication', (attempt) =>
      attempt.method === 'password' && attempt.username === 'admin' && attempt.password === 'secret'
        ? attempt.accept()
        : attempt.reject(['password']),
    );
    client.on('session', (accept) => {
      const session = accept();
      session.on('pty', (yes) => yes?.());
      session.on('window-change', (yes) => yes?.());
      session.on('shell', (yes) => {
        const channel = yes();
        channel.once('data', (bytes: Buffer) => {
          commands.push(bytes.toString());
          talkAsMachine(channel);
        });
      });
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port: Port } = server.address() as AddressInfo;
  return {
    offer: { ServiceEnabled: true, Port, SharedWithManagerCLI: true, ConsoleEntryCommand: 'start sol' },
    hostKey: fingerprint(parsed.getPublicSSH()),
    commands,
    close: () => void server.close(),
  };
}
