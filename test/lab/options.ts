import { parseArgs } from 'node:util';
import { AppError } from '#shared/errors/app-error.ts';
import type { Firmware, LabBoot, SecureBootKeys } from '#test/lab/qemu-arguments.ts';

export interface LabCommand {
  readonly firmware: Firmware;
  readonly bmc: 'redfish' | 'ipmi';
  readonly boot: LabBoot;
  readonly switch: 'ovs' | 'linux';
  /** Keys of Secure Boot; absent: it is off. */
  readonly secureBoot?: SecureBootKeys;
  /** Machines have a TPM, and must prove what they boot. */
  readonly tpm: boolean;
  readonly nodes: number;
  /** Onto software RAID, with a step of one's own and a change of BIOS settings. */
  readonly raid1: boolean;
  /** A control node, then two workers, from the documents in `site/`. */
  readonly site: boolean;
  /** A machine with data disks, torn down and redeployed twice; the second time another after it. */
  readonly redeploy: boolean;
  readonly keep: boolean;
  readonly help: boolean;
}

export const labUsage = `npm run lab -- [--firmware uefi|bios] [--bmc redfish|ipmi] [--boot pxe|vmedia|http] [--switch ovs|linux] [--secure-boot microsoft] [--tpm] [--nodes 1..8] [MODE] [--keep]
  --firmware  what the machines boot with (default uefi)
  --bmc       what their BMCs speak (default redfish)
  --boot      how they get the ramdisk (default pxe); vmedia: as a CD that the BMC shows, without DHCP and TFTP;
              http: the firmware's HTTP boot, without iPXE and TFTP
  --switch    what they are plugged into (default ovs); linux: a Linux computer in QEMU, over SSH
  --secure-boot  microsoft: the firmware checks what it boots by the keys that machines are sold with; needs --boot vmedia or http
  --tpm       machines have a TPM and get nothing until they have proved what they boot; needs --boot vmedia or http
  --nodes     how many machines are deployed at the same time (default 1)
  --keep      leave everything up afterwards, until Ctrl-C
at most one MODE:
  --raid1     two disks: show the plan, deploy onto RAID 1 with a BIOS change and a custom step, then pull each disk
  --site      three machines by documents (test/lab/site): a control node, then two workers, with the marks of two plugins
  --redeploy  a machine with two data disks leaves its clusters and is redeployed with its data, then without, and after it
              a second one, which waits until the first is Ready again`;

/** Machines of the modes that have their own. */
const machinesOf = { site: 3, redeploy: 2 } as const;

/** @throws AppError `invalid_argument` naming the flag and what would be right. */
export function parseLabCommand(args: readonly string[]): LabCommand {
  const { values } = parse(args);
  const oneOf = <T extends string>(flag: string, value: string, allowed: readonly T[]): T => {
    const found = allowed.find((each) => each === value);
    if (found !== undefined) return found;
    throw new AppError('invalid_argument', `--${flag} must be ${allowed.join(' or ')}, not '${value}'`);
  };
  const modes = (['raid1', 'site', 'redeploy'] as const).filter((mode) => values[mode]);
  const [mode, other] = modes;
  if (other) throw new AppError('invalid_argument', `--${mode} or --${other} must go: one of them at a time`);
  const own = mode === 'site' || mode === 'redeploy' ? machinesOf[mode] : undefined;
  if (own !== undefined && values.nodes !== undefined) {
    throw new AppError('invalid_argument', `--nodes must go: --${mode} has its own machines and their documents`);
  }
  const nodes = own ?? Number(values.nodes ?? 1);
  if (!Number.isInteger(nodes) || nodes < 1 || nodes > 8) {
    throw new AppError('invalid_argument', `--nodes must be a number from 1 to 8, not '${values.nodes}'`);
  }
  const bmc = oneOf('bmc', values.bmc, ['redfish', 'ipmi']);
  const boot = oneOf('boot', values.boot, ['pxe', 'vmedia', 'http']);
  if (boot !== 'pxe' && (bmc === 'ipmi' || mode !== undefined)) {
    throw new AppError('invalid_argument', `--boot ${boot} needs --bmc redfish and no MODE`);
  }
  if (boot === 'http' && values.firmware !== 'uefi') {
    throw new AppError('invalid_argument', '--boot http needs --firmware uefi');
  }
  const keys = values['secure-boot'];
  const secureBoot = keys === undefined ? undefined : oneOf('secure-boot', keys, ['microsoft']);
  if ((secureBoot || values.tpm) && (boot === 'pxe' || values.firmware !== 'uefi')) {
    throw new AppError('invalid_argument', '--secure-boot and --tpm need --firmware uefi and --boot vmedia or http');
  }
  const plugged = oneOf('switch', values.switch, ['ovs', 'linux']);
  if (plugged === 'linux' && mode === 'redeploy') {
    throw new AppError('invalid_argument', '--switch linux needs no --redeploy, which looks into Open vSwitch');
  }
  return {
    firmware: oneOf('firmware', values.firmware, ['uefi', 'bios']),
    bmc,
    boot,
    switch: plugged,
    ...(secureBoot ? { secureBoot } : {}),
    tpm: values.tpm,
    nodes,
    raid1: values.raid1,
    site: values.site,
    redeploy: values.redeploy,
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
        boot: { type: 'string', default: 'pxe' },
        switch: { type: 'string', default: 'ovs' },
        'secure-boot': { type: 'string' },
        tpm: { type: 'boolean', default: false },
        nodes: { type: 'string' },
        raid1: { type: 'boolean', default: false },
        site: { type: 'boolean', default: false },
        redeploy: { type: 'boolean', default: false },
        keep: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    // its message names the flag; the rest of it is advice about positional arguments
    throw new AppError('invalid_argument', (error as Error).message.split('. ')[0] ?? 'bad flags');
  }
}
