import {
  AttributeRegistry,
  type RegistryAttribute,
  RegistryFile,
  ServiceRegistries,
} from '#conductor/drivers/redfish/bios-schemas.ts';
import type { RedfishClient } from '#conductor/drivers/redfish/client.ts';
import { readResource } from '#conductor/drivers/redfish/resource.ts';
import { Collection } from '#conductor/drivers/redfish/schemas.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * The descriptions of attributes by name, from the registry that a Bios resource names. Empty where the BMC has none:
 * it is advice, and many BMCs name one that they do not serve.
 */
export async function readAttributeRegistry(
  client: RedfishClient,
  registry: string | null | undefined,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, RegistryAttribute>> {
  if (!registry) return new Map();
  try {
    const uri = await findRegistry(client, registry, signal);
    if (uri === undefined) return new Map();
    const { data } = await readResource(client, uri, AttributeRegistry, signal);
    const attributes = data.RegistryEntries?.Attributes ?? [];
    return new Map(attributes.flatMap((each) => (each ? [[each.AttributeName, each]] : [])));
  } catch (error) {
    if (error instanceof AppError && error.code === 'bmc_error') return new Map();
    throw error;
  }
}

async function findRegistry(client: RedfishClient, registry: string, signal: AbortSignal): Promise<string | undefined> {
  const root = await readResource(client, '/redfish/v1/', ServiceRegistries, signal);
  const path = root.data.Registries?.['@odata.id'] ?? '/redfish/v1/Registries';
  const { data } = await readResource(client, path, Collection, signal);
  const members = data.Members.map((member) => member['@odata.id']);
  // the member is usually called like the registry: that one is looked at first, for each look is a request
  const likely = members.filter((member) => registry.startsWith(member.split('/').at(-1) ?? member));
  for (const member of [...likely, ...members.filter((each) => !likely.includes(each))]) {
    const file = (await readResource(client, member, RegistryFile, signal)).data;
    if (file.Registry !== registry && file.Id !== registry) continue;
    const places = file.Location ?? [];
    const place = places.find(({ Language }) => Language?.startsWith('en')) ?? places[0];
    return place?.Uri ?? undefined;
  }
  return undefined;
}
