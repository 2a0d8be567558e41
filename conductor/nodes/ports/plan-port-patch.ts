import { PortDescription } from '#conductor/api/port-description.ts';
import type { PortRow } from '#conductor/kernel/db/schema/port.ts';
import { applyJsonPatch, type JsonPatch } from '#conductor/kernel/json-patch.ts';
import { portColumns } from '#conductor/nodes/ports/port-fields.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * The columns that a PATCH of a port changes. Pure.
 * @throws AppError `invalid_argument` naming the field.
 */
export function planPortPatch(port: PortRow, patch: JsonPatch): Partial<PortRow> {
  const columns = Object.entries(portColumns);
  const before = Object.fromEntries(columns.map(([field, column]) => [field, port[column]]));
  const patched = applyJsonPatch(before, patch, Object.keys(PortDescription.shape));
  const parsed = PortDescription.safeParse(patched);
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => `/${issue.path.join('/')}: ${issue.message}`);
    throw new AppError('invalid_argument', `Schema error for patch: ${faults.join('; ')}`);
  }
  const after = parsed.data;
  if (after.address === undefined)
    throw new AppError('invalid_argument', 'Cannot remove /address: it is a required property');
  // a removed field is back at its default
  const filled = {
    ...after,
    name: after.name ?? null,
    description: after.description ?? null,
    extra: after.extra ?? {},
    local_link_connection: after.local_link_connection ?? {},
    pxe_enabled: after.pxe_enabled ?? true,
    physical_network: after.physical_network ?? null,
    is_smartnic: after.is_smartnic ?? false,
    portgroup_uuid: after.portgroup_uuid ?? null,
  };
  const changes = columns
    .map(([field, column]) => [column, filled[field as keyof typeof portColumns]] as const)
    .filter(([column, value]) => JSON.stringify(value) !== JSON.stringify(port[column]));
  return Object.fromEntries(changes) as Partial<PortRow>;
}
