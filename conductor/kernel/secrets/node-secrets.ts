import type { AgentSessionRow } from '#conductor/kernel/db/schema/agent.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import {
  type DocumentPlace,
  openDocument,
  sealWritten,
  secretTexts,
} from '#conductor/kernel/secrets/sealed-document.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';

/** Places of a node's secrets. They are part of what is sealed: another word opens nothing that is stored. */

/** The documents of a node that hold secrets; `extra` is for everybody's eyes. */
const secretColumns = {
  driverInfo: 'driver_info',
  instanceInfo: 'instance_info',
  properties: 'properties',
} as const satisfies Partial<Record<keyof NodeRow, string>>;
type SecretColumn = keyof typeof secretColumns;

type NodeDocuments = Pick<NodeRow, SecretColumn>;

export function nodePlace(nodeUuid: string, field: string): DocumentPlace {
  return `node ${nodeUuid} ${field}`;
}

/**
 * Seals the secrets in what an operator writes of a node.
 * @param before the node that it changes
 * @throws AppError `invalid_argument` naming a value that begins as sealed ones do.
 */
export function sealNode<Change extends { readonly [Column in SecretColumn]?: JsonObject | undefined }>(
  secrets: Secrets,
  nodeUuid: string,
  change: Change,
  before?: NodeDocuments,
): Change {
  const sealed: Partial<NodeDocuments> = {};
  for (const [column, field] of Object.entries(secretColumns) as [SecretColumn, string][]) {
    const document = change[column];
    if (!document) continue;
    const place = nodePlace(nodeUuid, field);
    sealed[column] = sealWritten(secrets, document, place, before ? { before: before[column] } : {});
  }
  return { ...change, ...sealed };
}

/** @throws AppError `invalid_argument` naming the field, and the key that is missing. */
export function openNodeDocument(
  secrets: Secrets,
  node: Pick<NodeRow, 'uuid'> & Partial<NodeDocuments>,
  column: SecretColumn,
): JsonObject {
  return openDocument(secrets, node[column] ?? {}, nodePlace(node.uuid, secretColumns[column]));
}

/** Arguments of steps that run, or are to run, on this node. */
export function openStepArgs(secrets: Secrets, nodeUuid: string, args: JsonObject): JsonObject {
  return openDocument(secrets, args, nodePlace(nodeUuid, 'args'));
}

export function sealConfigDrive(secrets: Secrets, nodeUuid: string, content: string): string {
  return secrets.seal(content, nodePlace(nodeUuid, 'config_drive'));
}

export function openConfigDrive(secrets: Secrets, nodeUuid: string, sealed: string | undefined): string | undefined {
  return sealed === undefined ? undefined : secrets.open(sealed, nodePlace(nodeUuid, 'config_drive'));
}

export function openAgentToken(secrets: Secrets, session: Pick<AgentSessionRow, 'nodeUuid' | 'token'>): string {
  return secrets.open(session.token, nodePlace(session.nodeUuid, 'agent_token'));
}

/** Returns all that others may repeat of what they are sent about a node. */
export function nodeSecretTexts(
  secrets: Secrets,
  node: Pick<NodeRow, 'uuid'> & Partial<NodeDocuments>,
  args: JsonObject = {},
): string[] {
  const columns = Object.entries(secretColumns) as [SecretColumn, string][];
  return [
    ...columns.flatMap(([column, field]) => secretTexts(secrets, node[column] ?? {}, nodePlace(node.uuid, field))),
    ...secretTexts(secrets, args, nodePlace(node.uuid, 'args')),
  ];
}
