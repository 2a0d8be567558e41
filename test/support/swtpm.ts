import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TpmTransport } from '#agent/tpm/tpm.ts';
import { type RunningProcess, run, start } from '#shared/process/run.ts';
import { eventually } from '#test/support/eventually.ts';

/** Debian's swtpm, a TPM 2.0 in software, on a socket for commands. */
export interface SoftwareTpm {
  /** Runs a program of Debian's tpm2-tools on it; nobody may be connected meanwhile. @returns what it prints */
  tool(program: string, ...args: readonly string[]): Promise<string>;
  /** Connects; a TPM takes one at a time. */
  connect(): Promise<TpmTransport>;
  /** It answers nobody, and forgets nothing. */
  pause(): void;
  resume(): void;
  /** Ends it without a trace. */
  stop(): Promise<void>;
}

export interface SoftwareTpmOptions {
  /** Whether its maker has put a certificate for its RSA key into it; default true. */
  readonly certificate?: boolean;
  /** PCR banks that are on, `sha256`; default that one. */
  readonly banks?: string;
}

/**
 * Makes the state of a TPM as its maker delivers it, below a directory of that owner.
 * @param directory absolute, and there
 */
export async function manufactureTpm(
  directory: string,
  { certificate = true, banks = 'sha256' }: SoftwareTpmOptions = {},
): Promise<void> {
  await run('swtpm_setup', [
    '--tpm2',
    '--tpmstate',
    directory,
    '--pcr-banks',
    banks,
    '--overwrite',
    ...(certificate ? ['--create-ek-cert'] : []),
  ]);
}

/** Makes a TPM and starts it. */
export async function startSwtpm(options: SoftwareTpmOptions = {}): Promise<SoftwareTpm> {
  const directory = await mkdtemp(join(tmpdir(), 'baton-tpm-'));
  await manufactureTpm(directory, options);
  const socket = join(directory, 'commands');
  const swtpm: RunningProcess = start('setpriv', [
    '--pdeathsig=KILL', // its starter may be killed, and nobody else would end it
    'swtpm',
    'socket',
    '--tpm2',
    '--tpmstate',
    `dir=${directory}`,
    '--server',
    `type=unixio,path=${socket}`,
    '--ctrl',
    `type=unixio,path=${socket}.ctrl`,
    '--flags',
    'not-need-init,startup-clear',
  ]);
  swtpm.stdout.resume();
  swtpm.stderr.resume();
  const open = (): Promise<TpmTransport> => connectTo(socket);
  await eventually(async () => (await open()).close());
  return {
    tool: async (program, ...args) => {
      const env = { TPM2TOOLS_TCTI: `swtpm:path=${socket}` };
      return (await run(program, args, { env })).stdout;
    },
    connect: open,
    pause: () => swtpm.kill('SIGSTOP'),
    resume: () => swtpm.kill('SIGCONT'),
    stop: async () => {
      swtpm.kill('SIGKILL');
      await swtpm.exited;
      await rm(directory, { recursive: true });
    },
  };
}

async function connectTo(path: string): Promise<TpmTransport> {
  const socket = connect(path);
  await once(socket, 'connect');
  let answer = Buffer.alloc(0);
  let waiting = Promise.withResolvers<Buffer>();
  waiting.promise.catch(() => undefined); // an exchange that waits for it sees the end
  socket.on('error', (error) => waiting.reject(error));
  socket.on('close', () => waiting.reject(new Error('swtpm has closed the connection')));
  socket.on('data', (bytes) => {
    answer = Buffer.concat([answer, bytes]);
    // the answer's length stands behind its tag
    if (answer.length >= 6 && answer.length >= answer.readUInt32BE(2)) waiting.resolve(answer);
  });
  return {
    exchange: async (command) => {
      socket.write(command);
      const bytes = await waiting.promise;
      answer = Buffer.alloc(0);
      waiting = Promise.withResolvers();
      waiting.promise.catch(() => undefined);
      return bytes;
    },
    close: () => void socket.destroy(),
  };
}
