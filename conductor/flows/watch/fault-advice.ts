import type { BootEventName } from '#conductor/model/power-and-boot.ts';
import type { FaultCode } from '#shared/errors/fault-codes.ts';

/** Facts that are known beside a code, by which its advice is made whole. */
export interface FaultFacts {
  /** The node as the operator types it: name, else UUID. */
  readonly node: string;
  /** The one thing that the fault is about: `/dev/sda`, `leaf1`, an image's URL; of held power the node that holds it, where it is another. */
  readonly subject?: string | undefined;
  /** The disk of that name in the node's last inventory. */
  readonly disk?: DiskFacts | undefined;
  /** The last thing that was seen of the machine's boot since the step began. */
  readonly lastBoot?: { readonly event: BootEventName; readonly detail: string | null } | undefined;
  /** The last time that a machine of this model has booted the ramdisk. */
  readonly modelBoot?: { readonly model: string; readonly node: string; readonly at: string } | undefined;
  /** The switch of the machine's power since the step began that was not the flow's. */
  readonly power?: { readonly event: string; readonly at: string } | undefined;
  /** The step has failed, else it waits. */
  readonly isOver: boolean;
}

export interface DiskFacts {
  readonly name: string;
  readonly serial: string | null;
  readonly model: string | null;
  /** `false` = it says itself that it is failing. */
  readonly passed: boolean | null;
  readonly badSectors: number | null;
}

/** @returns sentences for an operator; `null` while there is nothing to do but wait */
type Advice = (facts: FaultFacts) => string | null;

const always =
  (text: string): Advice =>
  ({ node }) =>
    text.replaceAll('NODE', node);

/** Advice for every code that can end or hold a step: the compiler refuses a code without one. */
export const faultAdvice: Readonly<Record<FaultCode, Advice>> = {
  ramdisk_silent: (facts) =>
    facts.power
      ? `The machine was switched amid the flow (${facts.power.event} at ${facts.power.at}), which ended its boot: leave its power alone until the flow has ended.`
      : [describeSilence(facts.lastBoot), ...(facts.modelBoot ? [describeModelBoot(facts.modelBoot)] : [])].join(' '),
  agent_silent: always("The agent no longer answers: look at the machine's console and at its switch port."),
  agent_missing: always('No agent runs on the machine: look at its console, and whether somebody has switched it off.'),
  agent_reported: always(
    "The machine's own agent reports this, without a code: its logs (`baton logs NODE`) and the machine's console say more.",
  ),
  agent_answer: always(
    'What answers there does not answer as an agent does: look whether the ramdisk is the right one, and whether a proxy is between.',
  ),
  other_ramdisk: always(
    'The ramdisk has changed between two boots: serve one ramdisk until the flow has ended, by all conductors.',
  ),
  boot_not_trusted: always(
    'Look at `baton tpm show NODE`: if the change was yours (firmware, mainboard, Secure Boot), accept it by `baton tpm accept NODE FINGERPRINT`, with the fingerprint that stands there, and try again; else the machine runs what nobody has served. Only virtual media and UEFI HTTP boot can be proved.',
  ),
  boot_refused: always(
    'Have the machine boot by virtual media or UEFI HTTP (`baton node set NODE boot_interface=http`), whose loader is signed, or switch Secure Boot off by the step `management.secure_boot`. docs/networks.md has the ways.',
  ),
  power_switched: always(
    'The machine was switched amid the flow, by hand or by another program: leave its power alone until the flow has ended.',
  ),
  step_under_way: ({ isOver }) =>
    isOver
      ? 'The step took longer than BATON_STEP_TIMEOUT allows: a machine that needs longer needs a longer one.'
      : null,

  bmc_unreachable: always(
    "The BMC is the cause, it can't be reached: look at its cable and power, and at the address in the node's driver_info.",
  ),
  bmc_silent: always(
    'The BMC is the cause: it accepts connections and does not answer. Restart it (its own page, or unplug the machine), then try again.',
  ),
  bmc_login: always(
    'The BMC is the cause: it refuses the login. Correct user and password in driver_info: `baton node set NODE --driver-info …`.',
  ),
  bmc_certificate: always(
    "The BMC is the cause: its TLS certificate or protocol is refused. Renew its certificate, or correct the TLS fields of the node's driver_info.",
  ),
  bmc_busy: always('The BMC is the cause: it is busy, or has no session left. End sessions there, or restart it.'),
  bmc_refused: always(
    'The BMC is the cause, it refuses this: its own page and event log (`baton sel NODE`) say more; often its firmware is too old, or it needs a restart.',
  ),
  bmc_lacks: always(
    'The BMC is the cause, it does not have this: leave it out, or choose another interface or driver for the node.',
  ),
  bmc_settings: always(
    "The BMC is the cause by its settings: correct the field of the node's driver_info that the error names.",
  ),
  bmc_task: ({ isOver }) =>
    isOver
      ? 'The BMC is the cause: its task has not ended in time. Its own page and event log say how far it is.'
      : null,
  power_unconfirmed: always(
    "The BMC is the cause: it has taken the command, and the machine's power did not change. Look at its console, and whether its front button is locked.",
  ),
  sensor_bad: always('A sensor is as bad as `fail_at` says: see `baton sensors NODE`.'),

  switch_unreachable: aboutSwitch("can't be reached: look whether it runs, and at its endpoint in the networks file."),
  switch_login: aboutSwitch(
    'refuses the login: correct its user and password in the networks file, or its credential.',
  ),
  switch_identity: aboutSwitch(
    'shows another key or certificate than the networks file has: if it was replaced, write the new one there; else somebody is in between.',
  ),
  switch_busy: aboutSwitch('is busy with a change of somebody else: end or confirm that change there.'),
  switch_refused: aboutSwitch(
    'did not take the change: the error has its own words. `baton network diff` shows how its ports are and should be.',
  ),
  switch_settings: aboutSwitch(
    "is not described rightly: correct its entry in the networks file, or the port's local_link_connection.",
  ),

  image_missing: aboutImage('is not on its server. Correct the URL, or put the file there'),
  image_denied: aboutImage('is refused by its server. Give the node a URL or login that may read it'),
  image_server: aboutImage(
    "can't be fetched: its server does not answer the node. Look whether the server runs, and whether the node's network reaches it",
  ),
  image_stalled: aboutImage(
    'stands still: its server sends nothing any more. Look at the server and the network between',
  ),
  image_replaced: aboutImage(
    'was replaced on its server while it was being fetched. Give each version a name of its own, and put a file in its place only once it is whole',
  ),
  image_checksum: aboutImage('is not the one that was asked for. Correct the checksum, or put the right file there'),
  image_unusable: aboutImage(
    'can not be written as it is. See what the error says of it, and what its URL answers a browser',
  ),
  image_too_large: ({ disk, subject = 'the root disk' }) =>
    `The image does not fit on ${nameDisk(subject, disk)}: give a smaller image, or root device hints for a larger disk.`,
  image_address: aboutImage(
    'is at an address that the node may not fetch from: allow it in BATON_IMAGE_URL_ALLOW, or give another URL',
  ),

  disk_failing: (facts) => describeFailing(facts),
  disk_gone: ({ disk, subject = 'The disk' }) =>
    `${nameDisk(subject, disk)} is not there, or no longer: look whether it sits in its slot and its controller sees it; \`baton inspect\` reads the disks again.`,
  disk_in_use: ({ disk, subject = 'The disk' }) =>
    `${nameDisk(subject, disk)} is in use by a volume or a mount: \`baton clean\` with erase_devices_metadata frees it, or name another by root device hints.`,
  disk_choice: always(
    "No disk, or more than one, fits: `baton plan NODE` lists the disks; correct the node's root_device, skip_block_devices, or the machine's disks.",
  ),

  plan_changed: always('The plan has changed since it was read: run `baton plan` again, and use its hash.'),
  cluster_wait: ({ isOver }) =>
    isOver
      ? 'The cluster did not come to what the step needs in time: look at the cluster, by the names in the error.'
      : null,
  time_wait: ({ isOver }) => (isOver ? 'The rest was not ended in time: look whether conductors ran.' : null),
  machine_wait: ({ isOver }) => (isOver ? 'The machine did not do it in time: look at its console.' : null),
  operator_word: always('`baton unhold NODE` continues it.'),
  unknown: always(
    'The error was recorded by another release of Baton, without a code that is known here: its words are all there is.',
  ),

  invalid_argument: always('A setting is wrong, and the error names it: correct it (`baton node set NODE`).'),
  unauthorized: always('A login is refused: correct the one that the error names.'),
  forbidden: always('A rule of this conductor forbids it: the error names the setting.'),
  not_found: always('Something that the step needs is not there, and the error names it: add it, or correct its name.'),
  not_acceptable: always('The API version is refused: a newer client or conductor is needed.'),
  conflict: always('Something else stands against it, and the error names it: end that first.'),
  node_locked: always('A conductor works on the node: wait until that has ended.'),
  power_held: ({ node, subject }) =>
    'Power stays as it is until that step has ended by its own word, or its time is over. If the console of the machine, ' +
    `or of its BMC, shows that nothing is under way: \`baton power release ${subject ?? node}\`.`,
  busy: always('It is busy with something else: wait until that has ended.'),
  not_supported: always('Neither this release nor the machine can do this: leave the step out, or upgrade.'),
  unavailable: always(
    'What the error names did not answer: look whether it runs and can be reached from this conductor.',
  ),
  timeout: always('What the error names took too long: look whether it runs, and how busy it is.'),
  aborted: always('It was stopped by request.'),
  lease_lost: always('Another conductor has taken over: nothing is to be done.'),
  command_failed: always(
    'A program of the host failed, and the error has its words: look whether it is installed and of the right version.',
  ),
  bmc_error: always("The BMC is the cause: look whether it answers, and at the node's driver_info."),
  switch_error: aboutSwitch('is the cause: the error has its words.'),
  agent_error: always('The agent did not do it: `baton logs NODE` and the console of the machine say why.'),
  image_error: aboutImage('can not be used. Check its URL as the node reaches it, and its checksum'),
  storage_error: always(
    'A disk or its table is the cause: `baton plan NODE` lists the disks as the ramdisk has seen them.',
  ),
  version_mismatch: always(
    'The ramdisk has changed between two boots: serve one ramdisk until the flow has ended, by all conductors.',
  ),
  database_error: always(
    'The database did not answer: look at /readyz of the conductor, which says what is wrong with it.',
  ),
  internal: always("This is a fault in Baton: send the conductor's log of this time with a bug report."),
};

function aboutSwitch(text: string): Advice {
  return ({ subject }) => `Switch ${subject ?? 'of the node'} ${text}`;
}

function aboutImage(text: string): Advice {
  return ({ subject, node }) => {
    const where = subject === undefined ? '' : ` (${subject})`;
    return `Look at the image${where}: it ${text}.`.replaceAll('NODE', node);
  };
}

function nameDisk(name: string, disk: DiskFacts | undefined): string {
  if (!disk) return name;
  const about = [disk.model, disk.serial === null ? null : `serial ${disk.serial}`].filter((part) => part !== null);
  return about.length === 0 ? name : `${name} (${about.join(', ')})`;
}

function describeFailing({ subject, disk }: FaultFacts): string {
  const name = subject ?? disk?.name;
  if (name === undefined) return 'A disk is failing: the page of the node shows the health of each; replace it.';
  const signs = [
    disk?.passed === false ? 'it says itself that it is failing' : '',
    disk?.badSectors ? `${disk.badSectors} bad sectors` : '',
  ].filter((sign) => sign !== '');
  const why = signs.length === 0 ? 'it does not read or write' : signs.join(', ');
  return `The disk is failing (${why}): replace ${nameDisk(name, disk)}.`;
}

function describeModelBoot({ model, node, at }: NonNullable<FaultFacts['modelBoot']>): string {
  return `Another ${model} has booted this conductor's ramdisk before: ${node} on ${at}.`;
}

function describeSilence(lastBoot: FaultFacts['lastBoot']): string {
  if (lastBoot) return describeBoot(lastBoot);
  return (
    "The ramdisk has not contacted the conductor: look at the machine's console, and whether it gets a DHCP address, on the " +
    'switch port and VLAN where this conductor answers.'
  );
}

/** Describes how far the machine got. */
function describeBoot({ event, detail }: NonNullable<FaultFacts['lastBoot']>): string {
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
