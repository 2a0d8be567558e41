import type { MdArray } from '#agent/storage/mdadm.ts';
import type { DiskTable } from '#agent/storage/sfdisk.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/** A machine with blank disks, as the tools that RAID is made by show it. */
export interface RaidMachine {
  readonly run: Run;
  /** Command lines that change something. */
  readonly changes: readonly string[];
  readonly tables: Map<string, DiskTable>;
  /** Signatures of file systems and the like, by the device that they are on: `LVM2_member`. */
  readonly signatures: Map<string, string>;
  arrays: MdArray[];
}

const mib = 1024 ** 2;

/** @param names `/dev/vda`, or a file below `/dev/../` where it is to be written to; each of 10 GiB */
export function raidMachine(
  names: readonly string[],
  failing: (commandLine: string) => boolean = () => false,
): RaidMachine {
  const changes: string[] = [];
  const machine: RaidMachine = { run: answer, changes, tables: new Map(), signatures: new Map(), arrays: [] };
  async function answer(...[command, args, options]: Parameters<Run>): ReturnType<Run> {
    const line = [command, ...args].join(' ');
    const tool = tools[command];
    if (!tool) throw new AppError('command_failed', `${command} is not there`);
    if (!/^(lsblk|cat|udevadm|blockdev|partx)|--json|--detail|--examine|--assemble/.test(line)) changes.push(line);
    if (failing(line)) throw new AppError('command_failed', `${line} failed`);
    return { stderr: '', durationMs: 1, ...tool(machine, names, args, String(options?.input ?? '')) };
  }
  return machine;
}

type Tool = (
  machine: RaidMachine,
  names: readonly string[],
  args: readonly string[],
  input: string,
) => { readonly stdout: string; readonly stderr?: string; readonly exitCode: number };

const done = { stdout: '', exitCode: 0 };

const tools: Readonly<Record<string, Tool>> = {
  udevadm: () => done,
  blockdev: () => done,
  partx: () => done,
  wipefs: ({ tables, signatures, arrays }, _names, args) => {
    const device = args.at(-1) ?? '';
    if (args[0] === '--json') {
      const isMember = arrays.some(({ members }) => members.includes(device));
      const types = [signatures.get(device), tables.get(device)?.label, isMember ? 'linux_raid_member' : undefined];
      const listed = types.flatMap((type) => (type === undefined ? [] : [{ device, type }]));
      return { stdout: JSON.stringify({ signatures: listed }), exitCode: 0 };
    }
    tables.delete(device);
    signatures.delete(device);
    return done;
  },
  lsblk: ({ arrays }, names) => ({
    stdout: JSON.stringify({
      blockdevices: [
        ...names.map((path) => ({ name: path.slice(5), path, type: 'disk', size: 10 * 1024 ** 3 })),
        ...arrays.map(({ device, level }) => ({
          name: device.slice(5),
          path: device,
          type: level,
          size: 5 * 1024 ** 3,
        })),
      ],
    }),
    exitCode: 0,
  }),
  cat: ({ arrays }) => ({
    stdout: arrays
      .map(({ device, level, members, size, working }) => {
        const listed = members.map((member, index) => `${member.slice(5)}[${index}]`).join(' ');
        return `${device.slice(5)} : active ${level} ${listed}\n      100 blocks super 1.2 [${size}/${working}] [U]\n`;
      })
      .join('\n'),
    exitCode: 0,
  }),
  sfdisk: ({ tables }, _names, args, input) => {
    const device = args.at(-1) ?? '';
    if (args[0] === '--json') {
      const table = tables.get(device);
      if (table) return { stdout: dumpTable(device, table), exitCode: 0 };
      return { stdout: '', stderr: `sfdisk: ${device}: does not contain a recognized partition table`, exitCode: 1 };
    }
    tables.set(device, parseScript(input));
    return done;
  },
  sgdisk: ({ tables }, _names, args) => {
    const device = args.at(-1) ?? '';
    const partitions = tables.get(device)?.partitions ?? [];
    const types: Readonly<Record<string, string>> = {
      ef00: 'c12a7328-f81f-11d2-ba4b-00a0c93ec93b',
      ef02: '21686148-6449-6e6f-744e-656564454649',
    };
    const type = types[args[3]?.slice(2) ?? ''] ?? '';
    const added = { number: partitions.length + 1, startBytes: mib, sizeBytes: mib, type, name: null };
    tables.set(device, { label: 'gpt', partitions: [...partitions, added] });
    return done;
  },
  mdadm: (machine, _names, args) => {
    const get = (name: string): string =>
      args.find((each) => each.startsWith(`--${name}=`))?.slice(name.length + 3) ?? '';
    if (args[0] === '--create') {
      const members = args.filter((each) => /^\/dev\/(?!md)/.test(each)).toSorted();
      const number = machine.arrays.length;
      machine.arrays.push({
        device: args[1] ?? '',
        active: true,
        level: `raid${get('level')}`,
        members,
        size: members.length,
        working: members.length,
        uuid: `00000000:00000000:00000000:0000000${number}`,
        name: get('name'),
        metadata: get('metadata'),
      });
    }
    if (args[0] === '--stop') machine.arrays = machine.arrays.filter(({ device }) => device !== args[1]);
    if (args[0] === '--detail') {
      const array = machine.arrays.find(({ device }) => device === args.at(-1));
      return {
        stdout: `MD_UUID=${array?.uuid}\nMD_NAME=any:${array?.name}\nMD_METADATA=${array?.metadata ?? '1.2'}\n`,
        exitCode: 0,
      };
    }
    return done;
  },
};

function dumpTable(device: string, table: DiskTable): string {
  const partitions = table.partitions.map((partition) => ({
    node: `${device}${partition.number}`,
    start: partition.startBytes / 512,
    size: partition.sizeBytes / 512,
    type: partition.type,
  }));
  const label = table.label === 'msdos' ? 'dos' : table.label;
  return JSON.stringify({ partitiontable: { label, sectorsize: 512, partitions } });
}

function parseScript(input: string): DiskTable {
  const partitions = [...input.matchAll(/^(\d+) : start=(\d+)MiB, size=(\d+)MiB, type=([^,\n]+)/gm)].map((match) => ({
    number: Number(match[1]),
    startBytes: Number(match[2]) * mib,
    sizeBytes: Number(match[3]) * mib,
    type: match[4] ?? '',
    name: null,
  }));
  return { label: input.startsWith('label: dos') ? 'msdos' : 'gpt', partitions };
}
