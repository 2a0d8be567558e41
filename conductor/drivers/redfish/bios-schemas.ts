import { z } from 'zod';
import { lenient, Reference } from '#conductor/drivers/redfish/schemas.ts';

/** What is read of DMTF's Bios, Settings and AttributeRegistry resources; as tolerant as `schemas.ts`. */

const Message = z.looseObject({
  MessageId: lenient(z.string()),
  Message: lenient(z.string()),
  Severity: lenient(z.string()),
  MessageSeverity: lenient(z.string()),
});

const Settings = z.looseObject({
  SettingsObject: lenient(Reference),
  SupportedApplyTimes: lenient(z.array(z.string())),
  Messages: lenient(z.array(Message)),
});

export const Bios = z.looseObject({
  Attributes: lenient(z.record(z.string(), z.unknown())),
  AttributeRegistry: lenient(z.string()),
  ResetBiosToDefaultsPending: lenient(z.boolean()),
  '@Redfish.Settings': lenient(Settings),
  Actions: lenient(z.looseObject({ '#Bios.ResetBios': lenient(z.looseObject({ target: lenient(z.string()) })) })),
});
export type Bios = z.infer<typeof Bios>;

export const RegistryFile = z.looseObject({
  Id: lenient(z.string()),
  Registry: lenient(z.string()),
  Location: lenient(z.array(z.looseObject({ Language: lenient(z.string()), Uri: lenient(z.string()) }))),
});

export const RegistryAttribute = z.looseObject({
  AttributeName: z.string(),
  Type: lenient(z.string()),
  Value: lenient(z.array(z.looseObject({ ValueName: lenient(z.string()) }))),
  LowerBound: lenient(z.number()),
  UpperBound: lenient(z.number()),
  MinLength: lenient(z.number()),
  MaxLength: lenient(z.number()),
  ReadOnly: lenient(z.boolean()),
  ResetRequired: lenient(z.boolean()),
  IsSystemUniqueProperty: lenient(z.boolean()),
});
export type RegistryAttribute = z.infer<typeof RegistryAttribute>;

export const AttributeRegistry = z.looseObject({
  Id: lenient(z.string()),
  // one bad entry must not cost the description of the others
  RegistryEntries: lenient(z.looseObject({ Attributes: lenient(z.array(lenient(RegistryAttribute))) })),
});
export type AttributeRegistry = z.infer<typeof AttributeRegistry>;

export const ServiceRegistries = z.looseObject({ Registries: lenient(Reference) });
