import { flowKinds, restsIn } from '#conductor/model/flow-kinds.ts';
import type { FlowKindName, FlowState } from '#conductor/model/flow-states.ts';
import type { BootEventName } from '#conductor/model/power-and-boot.ts';
import type { ProvisionState } from '#conductor/model/provision-states.ts';

export interface AdviceFacts {
  /** The node as the operator types it: name, else UUID. */
  readonly node: string;
  readonly provisionState: ProvisionState;
  readonly inMaintenance: boolean;
  readonly kind: FlowKindName;
  readonly state: FlowState;
  readonly held: string | null;
  readonly onHold: string | null;
  readonly abortRequested: string | null;
  /** The main step that has failed, or is at work. */
  readonly step: AdviceStep | undefined;
  /** The last thing that was seen of the machine's boot since that step began. */
  readonly lastBoot?: { readonly event: BootEventName; readonly detail: string | null } | undefined;
  /** The agent's logs of this flow are kept. */
  readonly hasLogs: boolean;
  /** The action that has the wipe done which the node owes; absent = it owes none. */
  readonly owedWipe?: string | undefined;
  /** Changes of the node's clusters that are left to be undone by hand. */
  readonly byHand?: readonly string[];
}

export interface AdviceStep {
  /** `deploy.write_image` */
  readonly name: string;
  readonly error: string | null;
  readonly waitingFor: string | null;
  readonly waitedMs: number;
  /** The whole time that it may wait; `undefined` = no limit. */
  readonly limitMs: number | undefined;
  /** It waits because of a fault, and is tried again. */
  readonly isRetry: boolean;
}

/** A boot of a big machine takes minutes; what waits longer, or for half of its time, is worth a look. */
export const patienceMs = 5 * 60_000;

/**
 * Advises the operator what to do next, in a few sentences; `null` while there is nothing to do. For flows that have
 * failed or were aborted (as long as the node rests where that has left it), that rest, or that wait for too long.
 */
export function adviceFor(facts: AdviceFacts): string | null {
  const { node, step } = facts;
  if (facts.state === 'failed' || facts.state === 'aborted') return afterTheEnd(facts);
  if (facts.state === 'succeeded') return describeOwed(facts);
  if (facts.held !== null) {
    return `Nothing happens while the node is in maintenance: \`baton maintenance off ${node}\` continues the flow.`;
  }
  if (facts.onHold !== null) return `\`baton unhold ${node}\` continues it, \`baton abort ${node}\` ends it.`;
  if (facts.abortRequested !== null && step) {
    return step.name.startsWith('cluster.')
      ? `It stops when the look of ${step.name} that is under way has ended.`
      : `It stops when ${step.name} has ended, which must not be interrupted.`;
  }
  const isRefused = facts.lastBoot?.event === 'refused' && isBoot.test(step?.waitingFor ?? '');
  if (!step?.waitingFor || !(step.isRetry || isRefused || waitsTooLong(step))) return null;
  return lookFor(step.name, step.waitingFor, facts.lastBoot) ?? null;
}

function describeOwed({ owedWipe }: AdviceFacts): string | null {
  return owedWipe === undefined ? null : `A wipe of its disks is still owed: ${owedWipe}.`;
}

function waitsTooLong({ waitedMs, limitMs = Infinity }: AdviceStep): boolean {
  return waitedMs > Math.min(patienceMs, limitMs / 2);
}

function afterTheEnd(facts: AdviceFacts): string | null {
  const { node, step } = facts;
  const kind = flowKinds[facts.kind];
  const { afterFailure } = kind;
  if ((restsIn(kind) ?? facts.provisionState) !== facts.provisionState) return describeOwed(facts);
  const leave =
    facts.inMaintenance && !afterFailure.inMaintenance
      ? `Take it out of maintenance: \`baton maintenance off ${node}\`.`
      : '';
  const onward = afterFailure.next.replaceAll('NODE', node);
  const next = facts.state === 'failed' ? `Then ${onward}.` : `${onward.charAt(0).toUpperCase()}${onward.slice(1)}.`;
  const { byHand = [] } = facts;
  return [
    facts.state === 'failed'
      ? (lookFor(step?.name, step?.error, facts.lastBoot) ?? 'Put right what the step says.')
      : '',
    leave,
    next,
    facts.kind === 'wipe' || facts.kind === 'teardown' ? '' : (describeOwed(facts) ?? ''),
    byHand.length === 0 ? '' : `Nothing is undone automatically; left to do by hand: ${byHand.join('; ')}.`,
    facts.hasLogs ? `\`baton logs ${node}\` has the agent's logs.` : '',
  ]
    .filter((sentence) => sentence !== '')
    .join(' ');
}

const isBoot = /first heartbeat|ramdisk to come back/;

/** How far the machine got. */
function lookAtBoot({ event, detail }: NonNullable<AdviceFacts['lastBoot']>): string {
  switch (event) {
    case 'dhcp':
      return detail === 'proxy' || /^\d/.test(detail ?? '')
        ? 'The machine got its DHCP answer, and has fetched no boot script since: look whether it reaches BATON_BOOT_URL ' +
            "and this machine's TFTP, and at its console."
        : `The machine asked for an address and got none (${detail}): look at BATON_DHCP_RANGES.`;
    case 'script':
      return detail === 'ramdisk'
        ? "The machine has fetched its boot script, and not the ramdisk's kernel: look at its console."
        : `The machine has fetched its boot script, which has it boot from its ${detail ?? 'disk'}: power it on again.`;
    case 'kernel':
      return "The machine has fetched the ramdisk's kernel, and not its initrd: look at its console and at its memory.";
    case 'initrd':
      return (
        'The machine has loaded the ramdisk, whose agent has not contacted the conductor: look at its console, and whether ' +
        'the ramdisk has a driver for its network card and reaches BATON_PUBLIC_URL.'
      );
    case 'refused':
      return `The conductor refuses the machine: ${detail}`;
    default:
      return 'The agent has looked itself up, and its heartbeat has not arrived: look at its console and at its clock.';
  }
}

/** Causes by the words in which steps report them, the first that fits. */
const causes: readonly { readonly step?: RegExp; readonly words: RegExp; readonly look: string }[] = [
  {
    words: /may be under way, and a machine that loses power/,
    look:
      'Power stays as it is until that step has ended by its own word, or its time is over. If the console of the machine, ' +
      'or of its BMC, shows that nothing is under way: `baton power release NODE`.',
  },
  {
    words: /other hardware manager/,
    look: 'The ramdisk has changed between two boots: serve one ramdisk until the flow has ended, by all conductors.',
  },
  {
    words: isBoot,
    look:
      "The ramdisk has not contacted the conductor: look at the machine's console, and whether it gets a DHCP address, on the " +
      'switch port and VLAN where this conductor answers.',
  },
  {
    words: /agent is lost|agent to answer again/,
    look: "The agent no longer answers: look at the machine's console and at its switch port.",
  },
  {
    words: /gave up waiting for the agent to finish/,
    look: 'The step took longer than BATON_STEP_TIMEOUT allows: a machine that needs longer needs a longer one.',
  },
  {
    words: /plan is no longer the one/,
    look: 'The plan has changed since it was read: run `baton plan` again, and use its hash.',
  },
  {
    step: /\.get_sensors$/,
    words: /the BMC says that/,
    look: 'A sensor is as bad as `fail_at` says: see `baton sensors NODE`.',
  },
  {
    words: /\bbmc\b|redfish|ipmi|driver_info/i,
    look: "The BMC is the cause: look whether it answers, and at the node's driver_info.",
  },
  {
    step: /\.write_image$/,
    words: /sha\d+|md5|checksum|https?:/i,
    look: 'Look at the image: its URL as the node reaches it, and its checksum.',
  },
];

function lookFor(
  step: string | undefined,
  text: string | null | undefined,
  lastBoot?: AdviceFacts['lastBoot'],
): string | undefined {
  if (!text) return undefined;
  if (lastBoot && isBoot.test(text)) return lookAtBoot(lastBoot);
  return causes.find((cause) => (cause.step?.test(step ?? '') ?? true) && cause.words.test(text))?.look;
}
