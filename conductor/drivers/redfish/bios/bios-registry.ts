import { z } from 'zod';
import type { RedfishClient } from '#conductor/drivers/redfish/client/client.ts';
import { readEach, readShownPaths } from '#conductor/drivers/redfish/client/collection.ts';
import { readResource } from '#conductor/drivers/redfish/client/resource.ts';
import { orUndefined, Reference } from '#conductor/drivers/redfish/client/schemas.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** A BMC's registry of its BIOS attributes (DMTF AttributeRegistry): advice, of one moment. */

const RegistryFile = z.looseObject({
  Id: orUndefined(z.string()),
  Registry: orUndefined(z.string()),
  Location: orUndefined(z.array(z.looseObject({ Language: orUndefined(z.string()), Uri: orUndefined(z.string()) }))),
});

const RegistryAttribute = z.looseObject({
  AttributeName: z.string(),
  Type: orUndefined(z.string()),
  Value: orUndefined(z.array(z.looseObject({ ValueName: orUndefined(z.string()) }))),
  LowerBound: orUndefined(z.number()),
  UpperBound: orUndefined(z.number()),
  MinLength: orUndefined(z.number()),
  MaxLength: orUndefined(z.number()),
  ReadOnly: orUndefined(z.boolean()),
  ResetRequired: orUndefined(z.boolean()),
  IsSystemUniqueProperty: orUndefined(z.boolean()),
});
export type RegistryAttribute = z.infer<typeof RegistryAttribute>;

const Dependency = z.looseObject({
  Dependency: z.looseObject({ MapToAttribute: z.string(), MapToProperty: z.string() }),
});

const AttributeRegistry = z.looseObject({
  Id: orUndefined(z.string()),
  // one bad entry must not cost the description of the others
  RegistryEntries: orUndefined(
    z.looseObject({
      Attributes: orUndefined(z.array(orUndefined(RegistryAttribute))),
      Dependencies: orUndefined(z.array(orUndefined(Dependency))),
    }),
  ),
});
type AttributeRegistry = z.infer<typeof AttributeRegistry>;

const ServiceRegistries = z.looseObject({ Registries: orUndefined(Reference) });

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
    const found = await findRegistry(client, registry, signal);
    const { Attributes: attributes, Dependencies: dependencies } = found?.RegistryEntries ?? {};
    const described = (attributes ?? []).flatMap((each) => (each ? [each] : []));
    const changing = changingOf(dependencies ?? []);
    return new Map(described.map((each) => [each.AttributeName, without(each, changing.get(each.AttributeName))]));
  } catch (error) {
    if (error instanceof AppError && error.code === 'bmc_error') return new Map();
    throw error;
  }
}

/**
 * Lists, by attribute, the properties that another attribute's value changes (DMTF AttributeRegistry, `MapToProperty`): a
 * bound of this moment is none to hold a request against, as the same request may change what it depends on.
 */
function changingOf(dependencies: readonly (z.infer<typeof Dependency> | null | undefined)[]) {
  const changing = new Map<string, Set<string>>();
  for (const each of dependencies) {
    if (!each) continue;
    const { MapToAttribute: attribute, MapToProperty: property } = each.Dependency;
    changing.set(attribute, (changing.get(attribute) ?? new Set()).add(property));
  }
  return changing;
}

/** Leaves out properties of an attribute. */
function without(attribute: RegistryAttribute, properties: ReadonlySet<string> | undefined): RegistryAttribute {
  if (!properties) return attribute;
  const kept = Object.entries(attribute).filter(([property]) => !properties.has(property));
  return { ...Object.fromEntries(kept), AttributeName: attribute.AttributeName };
}

/**
 * `registry` is the Id of the registry's document (DMTF Bios, `AttributeRegistry`). Most BMCs call the file that points
 * to it the same; Dell has another name and another version there, so that only the document shows it.
 */
async function findRegistry(
  client: RedfishClient,
  registry: string,
  signal: AbortSignal,
): Promise<AttributeRegistry | undefined> {
  const root = await readResource(client, '/redfish/v1/', ServiceRegistries, signal);
  const path = root.data.Registries?.['@odata.id'] ?? '/redfish/v1/Registries';
  const members = (await readShownPaths(client, path, signal)).read;
  const family = /^[A-Za-z]*/.exec(registry)?.[0] ?? registry;
  // the member is usually called like the registry: that one is looked at first, for each look is a request
  const likely = members.filter((member) => member.split('/').at(-1)?.startsWith(family));
  for (const member of [...likely, ...members.filter((each) => !likely.includes(each))]) {
    const [file] = (await readEach(client, [member], RegistryFile, signal)).read;
    if (!file) continue;
    const names = [file.data.Registry ?? '', file.data.Id ?? ''];
    if (!names.some((name) => name.startsWith(family))) continue;
    const places = file.data.Location ?? [];
    const uri = (places.find(({ Language }) => Language?.startsWith('en')) ?? places[0])?.Uri;
    if (!uri) continue;
    const [document] = (await readEach(client, [uri], AttributeRegistry, signal)).read;
    const shown = [...names, document?.data.Id ?? ''].map(plainVersion);
    if (document && shown.includes(plainVersion(registry))) return document.data;
  }
  return undefined;
}

/** Versions are written `v1_0_0` and `1.0.0`, by Supermicro in two places of one BMC. */
function plainVersion(name: string): string {
  return name.replace(/\.v?(\d+)[._](\d+)[._](\d+)$/, '.$1.$2.$3');
}
