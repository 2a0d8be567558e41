import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/** A software RAID array as the kernel and its superblocks report it. */
export interface MdArray {
  /** `/dev/md0` */
  readonly device: string;
  readonly active: boolean;
  /** `raid1`; `null` while it is inactive. */
  readonly level: string | null;
  /** `/dev/vda1`, sorted. */
  readonly members: readonly string[];
  /** Members it should have and those at work; 0 while it is inactive. */
  readonly size: number;
  readonly working: number;
  /** Four groups of eight hex digits, `3aaa0122:29827cfa:5331ad66:ca767371`. */
  readonly uuid: string | null;
  /** Without the host's name before it. */
  readonly name: string | null;
  /** Superblock format, `1.2`. */
  readonly metadata: string | null;
}

export interface NewArray {
  readonly device: string;
  readonly name: string;
  /** Level as mdadm has it: `10`. */
  readonly level: string;
  readonly metadata: '1.0' | '1.2';
  readonly members: readonly string[];
}

type KernelArray = Pick<MdArray, 'device' | 'active' | 'level' | 'members' | 'size' | 'working'>;

/** All arrays that the kernel holds, inactive ones too; none where it has no md. */
export async function readArrays(run: Run): Promise<readonly MdArray[]> {
  // by a program, as all that is asked of the machine's storage: tests stand in for it. 1: the kernel has no md
  const { stdout: mdstat } = await run('cat', ['/proc/mdstat'], { okExitCodes: [0, 1] });
  const arrays = parseMdstat(mdstat);
  return Promise.all(
    arrays.map(async (array) => {
      const { stdout } = await run('mdadm', ['--detail', '--export', array.device]);
      return { ...array, ...parseDetail(stdout) };
    }),
  );
}

export function parseMdstat(text: string): readonly KernelArray[] {
  const lines = text.split('\n');
  return lines.flatMap((line, index) => {
    const found = /^(md\S+) : (active|inactive)(?: \([^)]*\))* (.*)$/.exec(line);
    if (!found) {
      if (!/^md\S* *:/.test(line)) return [];
      throw new AppError('storage_error', `/proc/mdstat names a RAID array in a way that is not understood: ${line}`);
    }
    const [, name = '', state, rest = ''] = found;
    const words = rest.split(' ').filter(Boolean);
    const members = words.flatMap((word) => {
      const member = /^(.+?)\[\d+\](\([A-Z]\))*$/.exec(word)?.[1];
      return member === undefined ? [] : [`/dev/${member}`];
    });
    const counts = /\[(\d+)\/(\d+)\]/.exec(lines[index + 1] ?? '');
    const level = words.find((word) => /^(raid\d+|linear)$/.test(word)) ?? null;
    const active = state === 'active';
    // levels without redundancy have no counts: there all members work or the array does not
    const all = active ? members.length : 0;
    return [
      {
        device: `/dev/${name}`,
        active,
        level,
        members: members.toSorted(),
        size: counts ? Number(counts[1]) : all,
        working: counts ? Number(counts[2]) : all,
      },
    ];
  });
}

/** Parses `mdadm --detail --export`. */
export function parseDetail(stdout: string): Pick<MdArray, 'uuid' | 'name' | 'metadata'> {
  const get = (key: string): string | null =>
    stdout
      .split('\n')
      .find((line) => line.startsWith(`${key}=`))
      ?.slice(key.length + 1)
      .trim() || null;
  return { uuid: get('MD_UUID'), name: get('MD_NAME')?.replace(/^[^:]*:/, '') ?? null, metadata: get('MD_METADATA') };
}

/**
 * Assembles every array whose members are here, also with members missing. The ramdisk's mdadm.conf forbids that to
 * anyone who relies on it (arrays on old disks would hold them), so it is left out here.
 */
export async function assembleArrays(run: Run): Promise<void> {
  const scan = ['--assemble', '--scan', '--run', '--config=partitions', '--homehost=any'];
  // 1: some could not be started, or there are none; 2: nothing to be done. What came of it is read afterwards
  await run('mdadm', scan, { okExitCodes: [0, 1, 2], timeoutMs: 120_000 });
}

/**
 * Creates and starts an array. The home host `any` makes every system take it for its own, so that it has the same
 * name in the ramdisk and in what is deployed.
 */
export async function createArray(run: Run, array: NewArray): Promise<void> {
  const what = ['--create', array.device, '--run', '--force', `--metadata=${array.metadata}`, `--level=${array.level}`];
  const identity = [`--name=${array.name}`, '--homehost=any'];
  await run('mdadm', [...what, ...identity, `--raid-devices=${array.members.length}`, ...array.members], {
    timeoutMs: 120_000,
  });
}

/** @throws AppError `command_failed` while something uses it */
export async function stopArray(run: Run, device: string): Promise<void> {
  await run('mdadm', ['--stop', device]);
}

/**
 * Forgets that a device was a member; one that never was one is fine.
 * @throws AppError `storage_error` when it still is one, being busy for instance
 */
export async function zeroSuperblock(run: Run, member: string): Promise<void> {
  // 1 and 2: nothing to zero as well as could not be opened, so what is there afterwards decides
  const zeroed = await run('mdadm', ['--zero-superblock', '--force', member], { okExitCodes: [0, 1, 2] });
  if (zeroed.exitCode === 0) return;
  const { stdout } = await run('mdadm', ['--examine', '--export', member], { okExitCodes: [0, 1, 2] });
  if (parseDetail(stdout).uuid === null) return;
  throw new AppError(
    'storage_error',
    `remove the RAID superblock of ${member}: ${zeroed.stderr.trim() || 'mdadm gave no reason'}`,
  );
}

/** The first `/dev/mdN` that no array has. */
export function freeArrayDevice(taken: readonly string[], from = 0): string {
  for (let number = from; ; number += 1) if (!taken.includes(`/dev/md${number}`)) return `/dev/md${number}`;
}
