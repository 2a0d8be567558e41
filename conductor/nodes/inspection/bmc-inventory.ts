import { type ShownCard, type ShownMachine, type ShownPart, shownParts } from '#conductor/drivers/shown-machine.ts';
import { isJsonObject, type JsonObject } from '#conductor/model/json-object.ts';
import { parseCardAddress } from '#shared/mac-address.ts';

/** Key of an inventory: the parts that no ramdisk has seen, but the BMC shows. */
const byBmc = 'baton_by_bmc';
/** Key of an inventory: why the BMC's word on a part is missing or incomplete, by part. */
const unknownToBmc = 'baton_unknown_to_bmc';

/** Returns whether a part of an inventory is the BMC's word: drives have other names there, and may be behind a controller. */
export function isByBmc(inventory: JsonObject, part: ShownPart): boolean {
  const parts = inventory[byBmc];
  return Array.isArray(parts) && parts.includes(part);
}

/** Returns whether the BMC shows a part, and all of it as far as it knows. */
export function isWholeByBmc(shown: JsonObject, part: ShownPart): boolean {
  return isByBmc(shown, part) && objectIn(shown, unknownToBmc)[part] === undefined;
}

/** Makes an inventory of what the BMC shows, in the form of a ramdisk's. Pure. */
export function inventoryByBmc({ cpu, memoryMb, cards, disks, vendor, unknown }: ShownMachine): JsonObject {
  const parts: readonly ShownPart[] = [
    ...((cpu?.count ?? cpu?.architecture) ? (['cpu'] as const) : []),
    ...(memoryMb === undefined ? [] : (['memory'] as const)),
    ...(cards.length > 0 ? (['interfaces'] as const) : []),
    ...(disks.length > 0 ? (['disks'] as const) : []),
  ];
  const reasons = Map.groupBy(unknown, ({ part }) => part);
  return {
    interfaces: cards.map(cardEntry),
    ...(disks.length > 0 ? { disks: disks.map(({ sizeBytes: size, ...disk }) => ({ ...disk, size })) } : {}),
    cpu: known({
      count: cpu?.count,
      architecture: cpu?.architecture,
      model_name: cpu?.model,
      frequency: cpu?.maxMhz?.toString(),
      socket_count: cpu?.sockets,
    }),
    memory: known({ physical_mb: memoryMb }),
    system_vendor: known({
      manufacturer: vendor.manufacturer,
      product_name: vendor.model,
      serial_number: vendor.serial,
      system_uuid: vendor.uuid?.toLowerCase(),
    }),
    [byBmc]: parts,
    [unknownToBmc]: Object.fromEntries(
      [...reasons].map(([part, entries]) => [part, entries.map(({ why }) => why)] as const),
    ),
  };
}

function cardEntry({ name, mac, isDisabled, hasLink, speedMbps }: ShownCard): JsonObject {
  return known({
    name,
    mac_address: mac,
    has_carrier: hasLink,
    speed_mbps: speedMbps,
    baton_disabled: isDisabled || undefined,
    [byBmc]: true,
  });
}

/** Leaves out what is not known. */
function known(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
}

/**
 * Joins what the BMC shows now to what is kept of the machine. Nothing that a ramdisk has seen goes: its list of disks stays
 * the list of disks, cards that only the BMC shows are added to it, and names stay. Entries that the BMC had shown before go
 * only where it shows the whole part now. Pure.
 */
export function joinInventory(before: JsonObject | undefined, shown: JsonObject): JsonObject {
  if (before === undefined) return shown;
  const isWhole = (part: ShownPart): boolean => isWholeByBmc(shown, part);
  const isSeen = (part: ShownPart): boolean => hasPart(before, part) && !isByBmc(before, part);
  const disks = isSeen('disks')
    ? before['disks']
    : isWhole('disks')
      ? shown['disks']
      : withoutTwins([...listIn(shown, 'disks'), ...listIn(before, 'disks')], ({ name }) => name);
  const earlier = listIn(before, 'interfaces').filter((card) => !(card[byBmc] === true && isWhole('interfaces')));
  return {
    ...before,
    interfaces: withoutTwins([...earlier, ...listIn(shown, 'interfaces')], ({ mac_address: mac }) =>
      typeof mac === 'string' ? (parseCardAddress(mac) ?? mac) : undefined,
    ),
    ...(Array.isArray(disks) && disks.length > 0 ? { disks } : {}),
    cpu: { ...objectIn(before, 'cpu'), ...objectIn(shown, 'cpu') },
    memory: { ...objectIn(before, 'memory'), ...objectIn(shown, 'memory') },
    // models are compared as text: one that was read of the machine itself stays
    system_vendor: { ...objectIn(shown, 'system_vendor'), ...known(objectIn(before, 'system_vendor')) },
    [byBmc]: shownParts.filter((part) => !isSeen(part) && (isByBmc(before, part) || isByBmc(shown, part))),
    [unknownToBmc]: shown[unknownToBmc],
  };
}

function hasPart(inventory: JsonObject, part: ShownPart): boolean {
  const value = inventory[part];
  return Array.isArray(value) ? part === 'disks' || value.length > 0 : isJsonObject(value) && !isEmpty(value);
}

function isEmpty(value: object): boolean {
  return Object.keys(value).length === 0;
}

function objectIn(inventory: JsonObject, key: string): JsonObject {
  const value = inventory[key];
  return isJsonObject(value) ? value : {};
}

function listIn(inventory: JsonObject, key: string): JsonObject[] {
  const value = inventory[key];
  return Array.isArray(value) ? (value as JsonObject[]) : [];
}

/** Leaves out entries whose mark an earlier one has. */
function withoutTwins(entries: readonly JsonObject[], markOf: (entry: JsonObject) => unknown): JsonObject[] {
  const met = new Set<unknown>();
  return entries.filter((entry) => {
    const mark = markOf(entry);
    if (mark === undefined) return true;
    const isNew = !met.has(mark);
    met.add(mark);
    return isNew;
  });
}

/** Joins what the BMC's cards say to plugin data: of a card that a ramdisk has seen, its word stays. Pure. */
export function joinPluginData(before: JsonObject | undefined, shown: JsonObject): JsonObject {
  if (before === undefined) return shown;
  const joined = Object.entries(shown).map(([name, value]) => {
    const kept = objectIn(before, name);
    const macs = new Set(Object.values(kept).map(macOf));
    const added = Object.entries(isJsonObject(value) ? value : {}).filter(([, entry]) => {
      const mac = macOf(entry);
      return mac === undefined || !macs.has(mac);
    });
    return [name, { ...Object.fromEntries(added), ...kept }] as const;
  });
  return { ...before, ...Object.fromEntries(joined) };
}

function macOf(entry: unknown): unknown {
  return isJsonObject(entry) ? entry['mac_address'] : undefined;
}
