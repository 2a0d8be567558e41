import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import ssh2 from 'ssh2';
import type { SwitchAccess } from '#conductor/networks/switch-driver.ts';
import { fingerprint } from '#shared/peers/host-key.ts';
import { type NetconfFace, serveNetconf } from '#test/simulators/switch/netconf-server.ts';

/** A switch's SSH server, whatever its operating system: logins, their number, delays, lost connections. */

/** Abilities of a login. One of the three. */
export interface SwitchFace {
  /** A dialogue. `undefined` = the switch hangs up. */
  readonly openShell?: () => ShellSession;
  /** A command with an exit code. */
  readonly run?: (command: string) => Promise<{ stdout: string; stderr: string; code: number }>;
  readonly netconf?: NetconfFace;
}

export interface ShellSession {
  readonly prompt: () => string;
  /** End of a typed line; any that terminals and programs send unless given. */
  readonly lineEnd?: '\r';
  /** Whether lines are the input of a command that was given before; Ctrl-D ends it. */
  readonly isTyping?: () => boolean;
  /** Gives what the command prints. */
  readonly execute: (command: string) => string;
  /** All that is shown after the command, echo and prompt too, in pieces with a pause between; `undefined` = as usual. */
  readonly show?: (command: string) => readonly string[] | undefined;
  /** The connection is lost. */
  readonly end?: () => void;
}

export interface SwitchFaults {
  /** Logins at the same time; more are refused. */
  maximumLogins: number;
  /** Milliseconds that a login and each command take. */
  loginMs: number;
  commandMs: number;
  /** Hang up at that command, counted from now on and from 1; `done` = it takes effect first; then `kill` is waited for. */
  cutAt: { command: number; readonly done: boolean; readonly kill?: () => Promise<void> } | undefined;
  /** Lines that come in between (a log), and the bytes that are written at once. */
  chatter: string;
  chunkBytes: number;
  /** Printed without end: in place of the first prompt, or of the answer to any command. */
  flood: { readonly from: 'login' | 'command'; readonly text: string } | undefined;
}

/** Over whichever transport. */
export interface ServedSwitch {
  readonly endpoint: string;
  readonly username: string;
  readonly password: string;
  /** How the driver gets there. */
  readonly access: SwitchAccess;
  readonly faults: Pick<SwitchFaults, 'cutAt'>;
  /** Every command, of all logins. */
  readonly commands: string[];
  stop(): Promise<void>;
}

export interface SwitchServer extends ServedSwitch {
  readonly hostKey: string;
  readonly faults: SwitchFaults;
  readonly logins: { now: number; most: number; ever: number };
  /** Prints it without end on each dialogue that is open. */
  floodNow(text: string): void;
}

const hostKeys = makeHostKeys();

interface Served extends Pick<SwitchServer, 'faults' | 'commands' | 'logins' | 'username' | 'password'> {
  readonly face: SwitchFace;
  readonly clients: Set<ssh2.Connection>;
  readonly channels: Set<ssh2.ServerChannel>;
}

/** Makes host keys that ssh2 1.17 can read: of 300 key pairs that it makes it can't read one itself. */
function makeHostKeys(): { readonly private: string } {
  for (;;) {
    const made = ssh2.utils.generateKeyPairSync('ed25519');
    if (!(ssh2.utils.parseKey(made.private) instanceof Error)) return made;
  }
}

export async function startSwitchServer(face: SwitchFace): Promise<SwitchServer> {
  const username = 'baton';
  const password = 'correct horse';
  const parsed = ssh2.utils.parseKey(hostKeys.private);
  if (parsed instanceof Error) throw parsed;
  const faults: SwitchFaults = {
    maximumLogins: 5,
    loginMs: 0,
    commandMs: 0,
    cutAt: undefined,
    chatter: '',
    chunkBytes: 4096,
    flood: undefined,
  };
  const commands: string[] = [];
  const logins = { now: 0, most: 0, ever: 0 };
  const clients = new Set<ssh2.Connection>();
  const channels = new Set<ssh2.ServerChannel>();
  const served: Served = { face, faults, commands, logins, clients, channels, username, password };
  const server = new ssh2.Server({ hostKeys: [hostKeys.private] }, (client) => serveClient(served, client));
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const endpoint = `${face.netconf ? 'netconf' : 'ssh'}:127.0.0.1:${(server.address() as AddressInfo).port}`;
  const hostKey = fingerprint(parsed.getPublicSSH());
  return {
    endpoint,
    hostKey,
    username,
    password,
    access: { endpoint, login: { username, password: async () => password, hostKey }, createVlans: true },
    faults,
    commands,
    logins,
    floodNow: (text) => {
      for (const channel of channels) flood(channel, text);
    },
    stop: async () => {
      for (const client of clients) client.end();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}

function serveClient(served: Served, client: ssh2.Connection): void {
  const { clients, logins, faults, face } = served;
  clients.add(client);
  // @types/ssh2 does not know it
  (client as ssh2.Connection & { setNoDelay(on: boolean): void }).setNoDelay(true);
  const state = { isIn: false };
  client.on('error', () => undefined);
  client.on('close', () => {
    clients.delete(client);
    if (state.isIn) logins.now -= 1;
  });
  client.on('authentication', (context) => {
    const isRight =
      context.method === 'password' && context.username === served.username && context.password === served.password;
    if (!isRight) context.reject(['password']);
    else if (logins.now >= faults.maximumLogins) client.end();
    else {
      state.isIn = true;
      logins.now += 1;
      logins.ever += 1;
      logins.most = Math.max(logins.most, logins.now);
      setTimeout(() => context.accept(), faults.loginMs);
    }
  });
  client.on('session', (acceptSession) => {
    const session = acceptSession();
    session.on('pty', (accept) => accept?.());
    const { openShell, run, netconf } = face;
    if (openShell) session.on('shell', (accept) => serveShell(served, accept(), openShell(), client));
    if (run) session.on('exec', (accept, _reject, info) => void serveProgram(served, accept(), client, info.command));
    if (!netconf) return;
    session.on('subsystem', (accept, reject, { name }) => {
      if (name !== 'netconf') reject();
      else serveNetconf(netconf, accept(), (operation, work) => command(served, operation, client, work));
    });
  });
}

async function serveProgram(
  served: Served,
  channel: ssh2.ServerChannel,
  client: ssh2.Connection,
  text: string,
): Promise<void> {
  const result = await command(served, text, client, () => served.face.run?.(text));
  if (!result) return;
  channel.write(result.stdout);
  channel.stderr.write(result.stderr);
  channel.exit(result.code);
  channel.end();
}

function serveShell(served: Served, channel: ssh2.ServerChannel, session: ShellSession, client: ssh2.Connection): void {
  const { faults } = served;
  const write = async (text: string): Promise<void> => {
    const wire = text.replaceAll('\n', '\r\n');
    for (let at = 0; at < wire.length; at += faults.chunkBytes) {
      if (at > 0) await sleep(1);
      channel.write(wire.slice(at, at + faults.chunkBytes));
    }
  };
  served.channels.add(channel);
  channel.on('error', () => undefined);
  channel.on('close', () => {
    served.channels.delete(channel);
    session.end?.();
  });
  if (faults.flood?.from === 'login') return flood(channel, faults.flood.text);
  const input: { text: string; turn: Promise<void> } = { text: '', turn: write(`\nWelcome\n\n${session.prompt()}`) };
  const answer = async (line: string): Promise<void> => {
    if (faults.flood) return flood(channel, faults.flood.text);
    if (session.isTyping?.()) {
      const said = session.execute(line);
      return write(`${line === '\u0004' ? '' : `${line}\n`}${said === '' ? '' : `${said}\n`}${session.prompt()}`);
    }
    const shown = session.show?.(line);
    if (shown) {
      served.commands.push(line);
      for (const piece of shown) {
        await write(piece);
        await sleep(10);
      }
      return;
    }
    await write(`${line}\n`);
    const output = await command(served, line, client, () => session.execute(line));
    if (output === undefined) return;
    await write(`${faults.chatter}${output}${output === '' || output.endsWith('\n') ? '' : '\n'}${session.prompt()}`);
  };
  channel.on('data', (chunk: Buffer) => {
    // Ctrl-D ends a line, too
    input.text += chunk.toString().replaceAll('\u0004', '\u0004\n');
    const lines = input.text.split(session.lineEnd ?? /\r\n|\r|\n/);
    input.text = lines.pop() ?? '';
    for (const line of lines) input.turn = input.turn.then(() => answer(line));
  });
}

/** Sends as fast as it is read, until the other side hangs up; others in this process have their turns in between. */
function flood(channel: ssh2.ServerChannel, text: string): void {
  const push = (): void => {
    let isRead = true;
    for (let piece = 0; piece < 64 && isRead && channel.writable; piece += 1) isRead = channel.write(text);
    if (isRead && channel.writable) setImmediate(push);
  };
  channel.on('drain', push);
  push();
}

/** Runs the command unless the connection is to be lost at it. */
async function command<Result>(
  { commands, faults }: Served,
  text: string,
  client: ssh2.Connection,
  run: () => Result | Promise<Result>,
): Promise<Result | undefined> {
  commands.push(text);
  if (faults.commandMs > 0) await sleep(faults.commandMs);
  const { cutAt } = faults;
  if (cutAt) cutAt.command -= 1;
  const isCut = cutAt?.command === 0;
  if (isCut) faults.cutAt = undefined;
  const result = isCut && !cutAt.done ? undefined : await run();
  if (!isCut) return result;
  await cutAt.kill?.();
  client.end();
  return undefined;
}
