import { parseArgs } from 'node:util';
import { AppError } from '#shared/errors/app-error.ts';
import type { Firmware } from '#test/lab/qemu-arguments.ts';

export interface LabCommand {
  readonly firmware: Firmware;
  readonly bmc: 'redfish' | 'ipmi';
  readonly nodes: number;
  /** Onto software RAID, with a step of one's own and a change of BIOS settings. */
  readonly raid1: boolean;
  /** A control node, then two workers, from the documents in `site/`. */
  readonly site: boolean;
  readonly keep: boolean;
  readonly help: boolean;
}

export const labUsage = `npm run lab -- [--firmware uefi|bios] [--bmc redfish|ipmi] [--nodes 1..8] [--raid1 | --site] [--keep]
  --firmware  what the machines boot with (default uefi)
  --bmc       what their BMCs speak (default redfish)
  --nodes     how many machines are deployed at the same time (default 1)
  --raid1     two disks: show the plan, deploy onto RAID 1 with a BIOS change and a custom step, then pull each disk
  --site      three machines by documents (test/lab/site): a control node, then two workers, with the marks of two plugins
  --keep      leave everything up afterwards, until Ctrl-C`;

const siteMachines = 3;

/** @throws AppError `invalid_argument` naming the flag and what would be right. */
export function parseLabCommand(args: readonly string[]): LabCommand {
  const { values } = parse(args);
  const oneOf = <T extends string>(flag: string, value: string, allowed: readonly T[]): T => {
    const found = allowed.find((each) => each === value);
    if (found !== undefined) return found;
    throw new AppError('invalid_argument', `--${flag} must be ${allowed.join(' or ')}, not '${value}'`);
  };
  if (values.site) {
    const other = values.raid1 ? '--raid1' : values.nodes === undefined ? undefined : '--nodes';
    if (other)
      throw new AppError('invalid_argument', `${other} must go: --site has three machines and their documents`);
  }
  const nodes = values.site ? siteMachines : Number(values.nodes ?? 1);
  if (!Number.isInteger(nodes) || nodes < 1 || nodes > 8) {
    throw new AppError('invalid_argument', `--nodes must be a number from 1 to 8, not '${values.nodes}'`);
  }
  return {
    firmware: oneOf('firmware', values.firmware, ['uefi', 'bios']),
    bmc: oneOf('bmc', values.bmc, ['redfish', 'ipmi']),
    nodes,
    raid1: values.raid1,
    site: values.site,
    keep: values.keep,
    help: values.help,
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        firmware: { type: 'string', default: 'uefi' },
        bmc: { type: 'string', default: 'redfish' },
        nodes: { type: 'string' },
        raid1: { type: 'boolean', default: false },
        site: { type: 'boolean', default: false },
        keep: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    // its message names the flag; the rest of it is advice about positional arguments
    throw new AppError('invalid_argument', (error as Error).message.split('. ')[0] ?? 'bad flags');
  }
}
