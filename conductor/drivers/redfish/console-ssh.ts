import ssh2 from 'ssh2';
import { stoppedError } from '#conductor/drivers/call-deadline.ts';
import type { ConsoleLine } from '#conductor/drivers/interfaces.ts';
import type { LineContext } from '#conductor/drivers/redfish/line-context.ts';
import type { SerialConsole } from '#conductor/drivers/redfish/schemas.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { fingerprint } from '#shared/peers/host-key.ts';
import { resolveOutbound } from '#shared/peers/outbound-url.ts';
import type { TerminalOptions } from '#shared/terminal/terminal.ts';

type Offer = NonNullable<NonNullable<SerialConsole['SSH']>>;

/** `SerialConsole.SSH`: the console itself at a port of its own, or a command of the BMC's shell. */
export async function openSshLine(context: LineContext, offer: Offer, size: TerminalOptions): Promise<ConsoleLine> {
  const { system, outbound, signal } = context;
  const what = `open the serial console at ${system.client.origin} over SSH`;
  const hostname = new URL(system.client.origin).hostname.replace(/^\[|\]$/g, '');
  const host = outbound ? await resolveOutbound(hostname, outbound) : hostname;
  const client = new ssh2.Client();
  const onAbort = (): void => void client.destroy();
  try {
    signal.throwIfAborted();
    signal.addEventListener('abort', onAbort, { once: true });
    await login(context, client, { what, host, port: offer.Port ?? 22 });
    const channel = await openShell(client, size, what);
    const command = offer.SharedWithManagerCLI ? offer.ConsoleEntryCommand : undefined;
    if (command) channel.write(`${command}\r`);
    return lineOf(client, channel);
  } catch (error) {
    client.destroy();
    throw signal.aborted ? stoppedError(signal, what) : error;
  } finally {
    // the time is for opening: an open console has no end
    signal.removeEventListener('abort', onAbort);
  }
}

function login(
  { connection }: LineContext,
  client: ssh2.Client,
  { what, host, port }: { readonly what: string; readonly host: string; readonly port: number },
): Promise<void> {
  const { username, password, verifyCa, hostKey } = connection;
  return new Promise((resolve, reject) => {
    let fault: AppError | undefined;
    // whoever takes any certificate takes any host key
    const hostVerifier = (key: Buffer): boolean => {
      const shown = fingerprint(key);
      if (shown === hostKey || (hostKey === undefined && verifyCa === false)) return true;
      const known = hostKey === undefined ? 'has none' : `has ${hostKey}`;
      const hint = `the BMC shows the host key ${shown}, driver_info.redfish_console_host_key ${known}`;
      fault = new AppError('bmc_error', `${what}: ${hint}; nothing was sent`);
      return false;
    };
    client.once('ready', () => resolve());
    client.on('error', (cause: Error & { readonly level?: string }) => {
      const refused = cause.level === 'client-authentication';
      reject(fault ?? new AppError(refused ? 'bmc_error' : 'unavailable', what, { cause }));
    });
    client.once('close', () => reject(new AppError('unavailable', `${what}: the BMC hung up`)));
    client.on('keyboard-interactive', (_name, _instructions, _language, prompts, finish) => {
      finish(prompts.map(() => password ?? ''));
    });
    client.connect({
      host,
      port,
      username: username ?? '',
      ...(password === undefined ? {} : { password, tryKeyboard: true }),
      readyTimeout: 20_000,
      keepaliveInterval: 20_000,
      hostVerifier,
    });
  });
}

function openShell(
  client: ssh2.Client,
  { term, columns, rows }: TerminalOptions,
  what: string,
): Promise<ssh2.ClientChannel> {
  return new Promise((resolve, reject) => {
    client.shell({ term, cols: columns, rows }, (cause, channel) => {
      if (cause) reject(new AppError('bmc_error', what, { cause }));
      else resolve(channel);
    });
  });
}

function lineOf(client: ssh2.Client, channel: ssh2.ClientChannel): ConsoleLine {
  channel.on('error', () => client.destroy()); // `close` follows
  return {
    onOutput: (listener) => void channel.on('data', (bytes: Buffer) => listener(bytes)),
    write: (bytes) => channel.destroyed || channel.write(bytes),
    onDrain: (listener) => void channel.on('drain', listener),
    resize: (columns, rows) => {
      if (!channel.destroyed) channel.setWindow(rows, columns, 0, 0);
    },
    pause: () => void channel.pause(),
    resume: () => void channel.resume(),
    hangUp: () => client.destroy(),
    ended: new Promise((resolve) => {
      channel.once('close', () => {
        client.destroy();
        resolve('the BMC closed the console');
      });
    }),
  };
}
