import type { SimulatedNode } from '#test/simulators/node/simulated-node.ts';
import type { Fault, Quirks } from '#test/simulators/redfish/faults.ts';
import type { Draw } from '#test/support/draw.ts';
import type { Operator } from '#test/support/operator.ts';

/** Work that must not lose power, as it may be drawn: firmware, volumes, BIOS settings, and what the agent writes. */

export const kindsOfWork = ['firmware', 'raid', 'bios', 'in-band'] as const;
export type KindOfWork = (typeof kindsOfWork)[number];

export interface DrawnWork {
  readonly step: Readonly<Record<string, unknown>>;
  /** Amid a deploy, else a cleaning. */
  readonly inDeploy: boolean;
  readonly disableRamdisk: boolean;
  /** Pattern of the BMC's answers that may be lost. */
  readonly asks: RegExp;
  /** Makes the machine be at it until then, from when it is asked for. */
  begin(until: Promise<unknown>): void;
  end(): void;
}

const image = (file: string): string => `http://192.0.2.7/${file}.bin`;
const updates = ['bios', 'bmc', 'NIC.Slot.1'] as const;
/** Steps, of `cleanSteps` in the test, amid which the machine breaks without power. */
const inBand = ['flash', 'secure_erase', 'erase_devices'] as const;

/** Steps that write one component or two. */
function drawUpdate(draw: Draw): DrawnWork['step'] {
  const first = draw.number(updates.length);
  const components = [updates[first], ...(draw.number(2) === 0 ? [updates[(first + 1) % updates.length]] : [])];
  const version = `${2 + draw.number(7)}.${draw.number(100)}.0`;
  const settings = components.map((component) => ({
    component,
    url: image(`${component === 'NIC.Slot.1' ? 'nic' : component}-${version}`),
  }));
  return { interface: 'firmware', step: 'update', args: { settings } };
}

/** Volumes in place of those of the schedules before, or none of them. */
async function drawVolumes(draw: Draw, { operator, name, inDeploy }: Where): Promise<DrawnWork['step']> {
  const levels = ['0', '1', '5', '6'].slice(draw.number(2));
  const logical_disks = levels.slice(0, 1 + draw.number(2)).map((raid_level, index) => ({
    size_gb: 100 + draw.number(100),
    raid_level,
    volume_name: `v${index}`,
  }));
  if (inDeploy) return { interface: 'raid', step: 'apply_configuration', args: { raid_config: { logical_disks } } };
  await operator.call('PUT', `/v1/nodes/${name}/states/raid`, { logical_disks });
  return { interface: 'raid', step: draw.of(['create_configuration', 'create_configuration', 'delete_configuration']) };
}

function drawSettings(draw: Draw): DrawnWork['step'] {
  const settings = [
    { name: 'NumCores', value: 1 + draw.number(8) },
    { name: 'AssetTag', value: `tag ${draw.number(1000)}` },
  ];
  const apply = { interface: 'bios', step: 'apply_configuration', args: { settings } };
  return draw.number(4) === 0 ? { interface: 'bios', step: 'factory_reset' } : apply;
}

interface Where {
  readonly operator: Operator;
  readonly name: string;
  readonly machine: SimulatedNode;
  readonly inDeploy: boolean;
}

export async function drawWork(kind: KindOfWork, draw: Draw, where: Omit<Where, 'inDeploy'>): Promise<DrawnWork> {
  const inDeploy = kind !== 'in-band' && draw.number(4) === 0;
  const { machine } = where;
  const plain = { inDeploy, disableRamdisk: kind !== 'in-band' && draw.number(3) > 0 };
  type Until = 'flashesUntil' | 'firmwareWrittenAfter' | 'volumesMadeAfter' | 'biosAppliesAfter';
  const byQuirk = (quirk: Until, more: Partial<Quirks> = {}) => ({
    begin: (until: Promise<unknown>) => void Object.assign(machine.bmc.quirks, { ...more, [quirk]: until }),
    end: () => void Object.assign(machine.bmc.quirks, { [quirk]: undefined }),
  });
  if (kind === 'firmware') {
    const step = drawUpdate(draw);
    // a ramdisk that comes back has started, and a simulated one does not wait for firmware
    const atStart = plain.disableRamdisk && !inDeploy && draw.number(3) === 0;
    return { ...plain, step, asks: /SimpleUpdate$/, ...byQuirk(atStart ? 'firmwareWrittenAfter' : 'flashesUntil') };
  }
  if (kind === 'raid') {
    const volumeApplyTimes = draw.of([['Immediate'], ['OnReset'], ['Immediate', 'OnReset']]);
    const step = await drawVolumes(draw, { ...where, inDeploy });
    return { ...plain, step, asks: /\/Volumes($|\/)/, ...byQuirk('volumesMadeAfter', { volumeApplyTimes }) };
  }
  if (kind === 'bios') return { ...plain, step: drawSettings(draw), asks: /Bios/, ...byQuirk('biosAppliesAfter') };
  const step = draw.of(inBand);
  return {
    ...plain,
    step: { interface: 'deploy', step },
    asks: /nothing of the BMC/,
    begin: (until) => {
      machine.faults.slowStep = { step, until };
    },
    end: () => {
      delete machine.faults.slowStep;
    },
  };
}

/** How often the machine lost power amid such work. */
export function lossesOf({ bmc, cutAmid }: SimulatedNode): number {
  const broken = cutAmid.filter((step) => inBand.some((each) => each === step));
  return bmc.counters.resetsAmidWork + broken.length;
}

export function drawLostAnswer(draw: Draw, { asks: path }: DrawnWork): Fault {
  const method = { method: draw.of(['POST', 'PATCH', 'DELETE']) };
  return { path, ...method, ...draw.of([{ dropAnswer: true }, { actsAs: 500 }, { actsAs: 502 }, { actsAs: 504 }]) };
}
