import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { writeStore } from '#shared/chunks/write-store.ts';
import { run, start } from '#shared/process/run.ts';

export interface RackOptions {
  /** For disks and the image. */
  readonly folder: string;
  readonly machines: number;
  readonly imageBytes: number;
  /** `10mbit`: of the server's link, and of each machine's, both ways. */
  readonly serverRate: string;
  readonly machineRate: string;
}

const Result = z.object({
  ms: z.number(),
  /** Milliseconds of the processor, while it wrote. */
  cpuMs: z.number(),
  peakKb: z.number(),
  origin: z.object({ kept: z.number(), copied: z.number(), fetched: z.number(), neighbours: z.number() }),
});
export type MachineResult = z.infer<typeof Result>;

export interface Machine {
  /** Result, once it has written; rejects when it dies before. */
  readonly written: Promise<MachineResult>;
  readonly disk: string;
  kill(): void;
}

/** Machines in network namespaces on one bridge, with a server of an image, each link with its rate (`tc`). */
export interface Rack extends AsyncDisposable {
  readonly imageBytes: number;
  /** Bytes of the image's chunks, as stored. */
  readonly storedBytes: number;
  readonly raw: string;
  /** Starts machines, and lets them write all at once. @param alone without neighbours */
  write(numbers: readonly number[], alone?: boolean): Promise<readonly Machine[]>;
  /** Its link has this rate from now on, both ways; `down`: nothing comes through, and nobody is told. */
  setLink(number: number, rate: string): Promise<void>;
  /** Puts a neighbour that means no good in a machine's place. */
  misbehave(number: number, how: 'lies' | 'stalls'): Promise<void>;
  /** Bytes that the server has sent since the last call. */
  sent(): Promise<number>;
}

const pieceBytes = 1024 * 1024;
/** Prefix of this process: several may have a rack. */
const prefix = prefixOf(process.pid);
const bridge = `${prefix}br`;
const sources = import.meta.dirname;
const base = 'http://10.99.0.1:8080';
/** Option with which `run-agent` starts it. */
const asInRamdisk = '--max-semi-space-size=1';

type Started = ReturnType<typeof start>;

/** Needs root. What a process that has died left is taken away. */
export async function buildRack(options: RackOptions): Promise<Rack> {
  await removeLeftNetworks();
  const { folder } = options;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const raw = join(folder, 'disk.raw');
  const stored = await writeStore(makeImage(options.imageBytes, raw), join(folder, 'store'), 'disk');
  const processes = new Set<Started>();
  const begin = async (namespace: string, args: readonly string[], environment = {}): Promise<Started> => {
    const command = ['netns', 'exec', namespace, process.execPath, '--disable-warning=ExperimentalWarning', ...args];
    const started = start('ip', command, { env: environment });
    processes.add(started);
    started.stderr.on('data', (chunk: Buffer) => process.stderr.write(chunk)); // a pipe each would be too many listeners
    await once(started.stdout, 'data'); // ready
    return started;
  };
  await buildNetwork(options);
  await begin(`${prefix}0`, [join(sources, 'image-server.ts'), '10.99.0.1', join(folder, 'store')]);
  return {
    imageBytes: options.imageBytes,
    storedBytes: stored.newBytes,
    raw,
    write: async (numbers, alone = false) => {
      const ready = await Promise.all(
        numbers.map(async (number) => {
          const disk = join(folder, `disk-${number}`);
          const args = [`10.99.0.${number + 1}`, disk, String(options.imageBytes), base, stored.sha256, `m${number}`];
          const machine = await begin(`${prefix}${number}`, [asInRamdisk, join(sources, 'machine.ts'), ...args], {
            ...(alone && { ALONE: '1' }),
          });
          return { machine, disk };
        }),
      );
      return ready.map(({ machine, disk }) => {
        const written = firstLine(machine);
        written.catch(() => undefined); // to whom asks for it
        machine.stdin.write('go\n');
        return { written, disk, kill: () => machine.kill('SIGKILL') };
      });
    },
    setLink,
    misbehave: async (number, how) => {
      const args = [`10.99.0.${number + 1}`, base, stored.sha256, `m${number}`, how];
      await begin(`${prefix}${number}`, [join(sources, 'bad-neighbour.ts'), ...args]);
    },
    sent: async () => {
      const { stdout } = await run('ip', ['netns', 'exec', `${prefix}0`, 'curl', '-sf', `${base}/sent`]);
      return Number(stdout);
    },
    [Symbol.asyncDispose]: async () => {
      for (const each of processes) each.kill('SIGKILL');
      await Promise.allSettled([...processes].map((each) => each.exited));
      await removeNetwork();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function firstLine(machine: Started): Promise<MachineResult> {
  for await (const line of createInterface({ input: machine.stdout })) return Result.parse(JSON.parse(line));
  throw new Error('the machine ended before it had written the image');
}

async function buildNetwork({ machines, serverRate, machineRate }: RackOptions): Promise<void> {
  await run('ip', ['link', 'add', bridge, 'type', 'bridge']);
  await run('ip', ['link', 'set', bridge, 'up']);
  for (let number = 0; number <= machines; number += 1) {
    const namespace = `${prefix}${number}`;
    const outer = `${prefix}v${number}`;
    const rate = number === 0 ? serverRate : machineRate;
    await run('ip', ['netns', 'add', namespace]);
    await run('ip', ['link', 'add', outer, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace]);
    await run('ip', ['-n', namespace, 'addr', 'add', `10.99.0.${number + 1}/24`, 'dev', 'eth0']);
    await run('ip', ['-n', namespace, 'link', 'set', 'eth0', 'up']);
    await run('ip', ['-n', namespace, 'link', 'set', 'lo', 'up']);
    await setLink(number, rate);
  }
}

async function setLink(number: number, rate: string): Promise<void> {
  const outer = `${prefix}v${number}`;
  const plug = rate === 'down' ? ['nomaster'] : ['master', bridge, 'up'];
  await run('ip', ['link', 'set', outer, ...plug]);
  if (rate === 'down') return;
  // each direction is shaped where it is sent; nothing is dropped, as a card would not
  const shape = ['root', 'tbf', 'rate', rate, 'burst', '64k', 'limit', '16mb'];
  await run('tc', ['-n', `${prefix}${number}`, 'qdisc', 'replace', 'dev', 'eth0', ...shape]);
  await run('tc', ['qdisc', 'replace', 'dev', outer, ...shape]);
}

function prefixOf(pid: number): string {
  return `btsw${pid.toString(36)}x`;
}

async function removeLeftNetworks(): Promise<void> {
  const pids = new Set((await listNamespaces()).flatMap((name) => /^btsw([0-9a-z]+)x\d+$/.exec(name)?.[1] ?? []));
  for (const pid of [...pids].map((digits) => Number.parseInt(digits, 36))) {
    if (pid === process.pid || !existsSync(`/proc/${pid}`)) await removeNetwork(prefixOf(pid));
  }
}

async function removeNetwork(of = prefix): Promise<void> {
  // first the links: the kernel takes those of a namespace away some time after it
  for (const name of await listLinks()) if (name.startsWith(of)) await run('ip', ['link', 'del', name]);
  for (const name of await listNamespaces()) if (name.startsWith(of)) await run('ip', ['netns', 'del', name]);
}

async function listLinks(): Promise<readonly string[]> {
  const { stdout } = await run('ip', ['-json', 'link', 'show']);
  return z
    .array(z.object({ ifname: z.string() }))
    .parse(JSON.parse(stdout))
    .map(({ ifname }) => ifname);
}

async function listNamespaces(): Promise<readonly string[]> {
  const { stdout } = await run('ip', ['netns', 'list']);
  return stdout.split('\n').map((line) => line.split(' ')[0] ?? '');
}

/** Three tenths of it do not compress, as of a file system with programs. */
async function* makeImage(bytes: number, raw: string): AsyncGenerator<Buffer> {
  const file = await open(raw, 'w');
  try {
    for (let at = 0; at < bytes; at += pieceBytes) {
      const piece = Buffer.alloc(pieceBytes, `block of ${at}`);
      for (let block = 0; block < pieceBytes; block += 4096) randomBytes(1200).copy(piece, block);
      await file.write(piece);
      yield piece;
    }
  } finally {
    await file.close();
  }
}
