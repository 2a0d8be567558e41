import { printable } from '#conductor/cli/fit-screen.ts';
import { formatBytes } from '#conductor/cli/format-units.ts';
import type { WipeReceipt } from '#conductor/model/receipts/verify-receipt.ts';

type Disk = Omit<WipeReceipt['disks_not_seen'][number], 'excuse'>;
type SwitchPort = WipeReceipt['switch_ports'][number];

/** A receipt as people read it. Pure. */
export function receiptLines(receipt: WipeReceipt): string[] {
  const { node, times, flows, disks_wiped: wiped, disks_left_alone: left, disks_not_seen: unseen } = receipt;
  const machine = [node.vendor, node.model, node.serial_number === null ? null : `serial ${node.serial_number}`];
  const asked = receipt.preserve_local_storage
    ? 'the disk with the operating system; the others were to stay'
    : 'all disks';
  return [
    `receipt ${receipt.id} of conductor ${receipt.conductor.name}`,
    `node ${node.name ?? ''} ${node.uuid}: ${machine.filter((part) => part !== null).join(' ') || 'a machine without an inventory'}`,
    ...(node.inventory_at === null ? [] : [`  as its ramdisk has read it on ${node.inventory_at}`]),
    ...(node.macs.length === 0 ? [] : [`  MACs ${node.macs.join(', ')}`]),
    `asked to wipe ${asked}${receipt.requested_by === null ? '' : `, by ${receipt.requested_by}`}`,
    `begun ${times.started}, wiped ${times.wiped}, signed ${times.signed}`,
    `flow ${flows.wipe}${flows.teardown === null ? '' : `, after the teardown ${flows.teardown}`}`,
    ...(receipt.site_action === null ? [] : [`site action ${receipt.site_action}`]),
    wiped.length === 0 ? 'NO DISK WAS WIPED' : `wiped: ${wiped.length}`,
    ...wiped.map((disk) => `  ${identify(disk)}: ${disk.method}, ${disk.seconds} s; ${proofText(disk.proof)}`),
    ...(left.length === 0 ? [] : [`left alone: ${left.length}`]),
    ...left.map((disk) => `  ${identify(disk)}: ${disk.reason}${entryText(disk)}`),
    ...(unseen.length === 0 ? [] : [`in the inventory, but not met by the wipe: ${unseen.length}`]),
    ...unseen.map((disk) => `  ${identify(disk)}${disk.excuse === null ? '' : `: ${disk.excuse}`}`),
    ...receipt.switch_ports.map(switchPortText),
    ...agentLines(receipt),
    ...(receipt.scope === '' ? [] : [`what this is about: ${receipt.scope}`]),
  ].map(printable);
}

function entryText({ skip_list_entry: entry }: WipeReceipt['disks_left_alone'][number]): string {
  return entry === null ? '' : ` (${JSON.stringify(entry)})`;
}

function agentLines({ agent }: WipeReceipt): string[] {
  if (agent === null) return [];
  const managers = Object.entries(agent.hardware_managers).map(([name, version]) => `${name} ${version}`);
  return [`wiped by the agent ${[agent.version ?? 'of an unknown version', ...managers].join(', ')}`];
}

function identify({ device, model, serial, wwn, size_bytes: size }: Disk): string {
  const shown = [
    model,
    serial === null ? null : `serial ${serial}`,
    wwn === null ? null : `wwn ${wwn}`,
    size === null ? null : formatBytes(size),
  ].filter((part) => part !== null);
  return `${device}${shown.length === 0 ? '' : ` (${shown.join(', ')})`}`;
}

function proofText({ canaries, samples, reads }: WipeReceipt['disks_wiped'][number]['proof']): string {
  const as = reads === 'changed' ? 'something else than before' : reads;
  return `read back: ${canaries} canaries gone, ${samples} samples, all read as ${as}`;
}

function switchPortText({ mac, switch_id: id, port_id: port, switch_info: info, ...rest }: SwitchPort): string {
  const where = id === null && port === null ? 'no switch port known' : `${info ?? id ?? 'switch'} port ${port ?? '?'}`;
  const vlan = rest.vlan === null ? '' : ` (VLAN ${rest.vlan})`;
  const on = rest.state === 'on a network' ? `on network ${rest.network}${vlan}` : rest.state;
  const at = rest.read_back_at === null ? '' : `, read back ${rest.read_back_at}`;
  return `switch port of ${mac}: ${where}: ${on}${at}`;
}
