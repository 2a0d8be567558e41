import { z } from 'zod';
import { severityOf } from '#conductor/drivers/redfish/client/message-meaning.ts';
import { type ComputerSystem, Message, orUndefined, Reference } from '#conductor/drivers/redfish/client/schemas.ts';

/** Schemas of DMTF's Bios and its Settings object, as tolerant as `schemas.ts`; iLO 4 has its own form of both. */

const Settings = z.looseObject({
  SettingsObject: orUndefined(Reference),
  SupportedApplyTimes: orUndefined(z.array(z.string())),
  Messages: orUndefined(z.array(Message)),
});
const Link = orUndefined(z.looseObject({ '@odata.id': orUndefined(z.string()), href: orUndefined(z.string()) }));

const Shown = z.looseObject({
  '@odata.type': orUndefined(z.string()),
  Type: orUndefined(z.string()),
  Attributes: orUndefined(z.record(z.string(), z.unknown())),
  AttributeRegistry: orUndefined(z.string()),
  ResetBiosToDefaultsPending: orUndefined(z.boolean()),
  '@Redfish.Settings': orUndefined(Settings),
  Actions: orUndefined(
    z.looseObject({ '#Bios.ResetBios': orUndefined(z.looseObject({ target: orUndefined(z.string()) })) }),
  ),
  Links: orUndefined(z.looseObject({ Settings: Link })),
  links: orUndefined(z.looseObject({ Settings: Link })),
  SettingsResult: orUndefined(z.looseObject({ Messages: orUndefined(z.array(Message)) })),
});

/** `isFlat`: the attributes stand among the resource's own properties, and are written there. */
export const Bios = Shown.transform((shown) => ({
  ...shown,
  ...(isFlat(shown) ? fromFlat(shown) : {}),
  isFlat: isFlat(shown),
}));
export type Bios = z.infer<typeof Bios>;

/** Properties of iLO 4's Bios that are no attributes, as far as they are no objects. */
const ownProperties = new Set(['AttributeRegistry', 'Description', 'ETag', 'Id', 'Modified', 'Name', 'Type']);

function isFlat({ Attributes, Type, '@odata.type': type }: z.infer<typeof Shown>): boolean {
  return Attributes === undefined && /^#?HpBios\./.test(type ?? Type ?? '');
}

function fromFlat(shown: z.infer<typeof Shown>) {
  const attributes = Object.entries(shown).filter(
    ([name, value]) => !ownProperties.has(name) && !name.includes('@') && (value === null || typeof value !== 'object'),
  );
  const place = pathOf(shown.Links?.Settings) ?? pathOf(shown.links?.Settings);
  return {
    Attributes: Object.fromEntries(attributes) as Record<string, unknown>,
    '@Redfish.Settings': {
      SettingsObject: place === undefined ? undefined : { '@odata.id': place },
      SupportedApplyTimes: undefined,
      Messages: shown.SettingsResult?.Messages,
    },
  };
}

function pathOf(link: z.infer<typeof Link>): string | undefined {
  return link?.['@odata.id'] ?? link?.href ?? undefined;
}

const HpLinks = orUndefined(z.looseObject({ BIOS: Link }));
const HpSystem = z.looseObject({
  Oem: z.looseObject({ Hp: z.looseObject({ BIOS: Link, Links: HpLinks, links: HpLinks }) }),
});

/** Where a system's Bios is; `undefined` = it has none. */
export function biosPlace(system: ComputerSystem): string | undefined {
  const standard = system.Bios?.['@odata.id'];
  if (standard !== undefined) return standard;
  const hp = HpSystem.safeParse(system).data?.Oem.Hp;
  return pathOf(hp?.Links?.BIOS) ?? pathOf(hp?.links?.BIOS) ?? pathOf(hp?.BIOS);
}

/** Lists what went wrong by a BMC's messages; one without a severity is a failure by its id alone. */
export function failuresOf(messages: readonly z.infer<typeof Message>[]): readonly string[] {
  return messages
    .filter((message) => {
      const severity = severityOf(message);
      if (severity !== undefined) return ['Warning', 'Critical'].includes(severity);
      const { MessageId: id } = message;
      return id != null && !/(^|[.:])(Success|NoOperation|\w*ResetRequired)$/.test(id);
    })
    .map(
      ({ Message: text, MessageId: id, MessageArgs: args }) => text || [id, ...(args ?? [])].join(' ') || 'no message',
    );
}
