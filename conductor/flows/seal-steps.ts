import { listPasswordSettings } from '#conductor/flows/bios/bios-store.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { nodePlace } from '#conductor/kernel/secrets/node-secrets.ts';
import { sealDocument } from '#conductor/kernel/secrets/sealed-document.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';

/**
 * Steps of a node's flow as they are stored, and shown: secrets in their arguments sealed. A BIOS setting may be a
 * password by what the BMC says of it, whatever its name.
 */
export async function sealSteps<Step extends { readonly interface: string; readonly args: JsonObject }>(
  { db, secrets }: { readonly db: Queryable; readonly secrets: Secrets },
  nodeUuid: string,
  steps: readonly Step[],
): Promise<Step[]> {
  const hasSettings = steps.some((step) => step.interface === 'bios' && Object.keys(step.args).length > 0);
  const options = hasSettings ? { secretSettings: await listPasswordSettings(db, nodeUuid) } : {};
  const place = nodePlace(nodeUuid, 'args');
  return steps.map((step) => ({ ...step, args: sealDocument(secrets, step.args, place, options) }));
}
