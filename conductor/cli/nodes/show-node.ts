import type { NodeTpmAnswer } from '#conductor/api/attestation.ts';
import type { NodeAnswer } from '#conductor/api/resources.ts';
import { cell, table } from '#conductor/cli/shell/print.ts';
import type { Screen } from '#conductor/cli/shell/screen.ts';
import { shownTime } from '#conductor/cli/shell/shown-time.ts';
import { isAcceptedSince } from '#conductor/model/tpm/accepted-since.ts';

/** Sections of `baton node show`, each with its fields in the order in which they are read; other fields come last. */
const sections: readonly { readonly title: string; readonly fields: readonly (string | RegExp)[] }[] = [
  {
    title: 'Node',
    fields: ['name', 'uuid', 'description', 'resource_class', 'traits', 'owner', 'lessee', 'shard', 'chassis_uuid'],
  },
  {
    title: 'State',
    fields: [
      'provision_state',
      'target_provision_state',
      'power_state',
      'target_power_state',
      'health',
      'last_error',
      'maintenance',
      'maintenance_reason',
      'fault',
      'reservation',
      'protected',
      'protected_reason',
      'retired',
      'retired_reason',
      'conductor',
      'conductor_group',
    ],
  },
  { title: 'Instance', fields: ['instance_uuid', 'instance_name', 'allocation_uuid', 'instance_info'] },
  { title: 'BMC', fields: ['driver', 'driver_info', /_interface$/, /^boot_mode$|^secure_boot$|^console_enabled$/] },
  { title: 'Hardware', fields: ['properties', 'extra', 'raid_config', 'target_raid_config', 'bios_interface'] },
  { title: 'Times', fields: [/_at$/, /^inspection_/] },
];

const hidden: ReadonlySet<string> = new Set(['links', 'ports', 'portgroups', 'states', 'volume']);

/** The node's TPM as far as `baton node show` has it. */
export type ShownTpm = Pick<NodeTpmAnswer, 'verdict' | 'reasons' | 'attested_at' | 'accepted' | 'other'> & {
  readonly tpm: Pick<NodeTpmAnswer['tpm'], 'fingerprint'>;
};

/**
 * A node in sections; what says nothing is left out. A key of an object has a line of its own. Pure.
 * @param tpm `undefined`: no boot of it was attested
 */
export function renderNode(
  node: NodeAnswer,
  screen: Pick<Screen, 'isTerminal'>,
  tpm?: ShownTpm | { readonly problem: string },
): string {
  const left = new Map(Object.entries(node).filter(([name]) => !hidden.has(name)));
  const take = (wanted: string | RegExp): (readonly [string, unknown])[] => {
    const names = typeof wanted === 'string' ? [wanted] : [...left.keys()].filter((name) => wanted.test(name));
    return names.flatMap((name) => {
      const value = left.get(name);
      left.delete(name);
      return saysNothing(value) ? [] : [[name, value] as const];
    });
  };
  const shown = sections.map(({ title, fields }) => ({ title, rows: fields.flatMap(take) }));
  const rest = { title: 'More', rows: [...left.keys()].flatMap(take) };
  const attestation = { title: 'Attestation', rows: tpm === undefined ? [] : attestationRows(cell(node.uuid), tpm) };
  return [...shown, attestation, rest]
    .filter(({ rows }) => rows.length > 0)
    .map(({ title, rows }) => `${title}\n${table(rows.flatMap((row) => linesOf(row, screen)))}`)
    .join('\n');
}

function attestationRows(node: string, tpm: ShownTpm | { readonly problem: string }): (readonly [string, unknown])[] {
  if ('problem' in tpm) return [['verdict', `not read: ${tpm.problem}`]];
  const { verdict, accepted, attested_at: at, other } = tpm;
  const isAccepted = isAcceptedSince({ by: accepted.by, at: new Date(accepted.at) }, new Date(at));
  const needsSomebody = verdict !== 'trusted' && !isAccepted;
  return [
    ['verdict', verdict !== 'trusted' && isAccepted ? `${verdict}, accepted since: its next boot is judged` : verdict],
    ...tpm.reasons.map((reason) => ['reason', reason] as const),
    ['attested_at', at],
    ['tpm', tpm.tpm.fingerprint],
    ...(other === null
      ? []
      : [['another_tpm', `${other.tpm.fingerprint} has asked; see baton tpm show ${node}`] as const]),
    ...(needsSomebody
      ? [['if_it_was_you', `baton tpm accept ${node} ${tpm.tpm.fingerprint.slice(0, 16)}`] as const]
      : []),
  ];
}

function saysNothing(value: unknown): boolean {
  if (value === null || value === undefined || value === '' || value === false) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

function linesOf([name, value]: readonly [string, unknown], screen: Pick<Screen, 'isTerminal'>): string[][] {
  if (Array.isArray(value)) return [[`  ${name}`, value.map(cell).join(', ')]];
  if (typeof value !== 'object' || value === null) {
    return [[`  ${name}`, typeof value === 'string' ? shownTime(screen, value) : cell(value)]];
  }
  return [[`  ${name}`], ...Object.entries(value).map(([key, inner]) => [`    ${key}`, cell(inner)])];
}
