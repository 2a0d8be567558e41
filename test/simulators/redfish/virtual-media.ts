import { X509Certificate } from 'node:crypto';
import { type Answer, errorAnswer, parseObject } from '#test/simulators/redfish/answers.ts';
import type { Quirks } from '#test/simulators/redfish/faults.ts';
import { type MediaFaults, type SimulatedSlot, standardMedia } from '#test/simulators/redfish/media-faults.ts';
import type { ServiceState } from '#test/simulators/redfish/service-state.ts';
import { perform } from '#test/simulators/redfish/tasks.ts';

/** Slots for virtual media, after DMTF's VirtualMedia schema. */

interface Disc {
  readonly image: string;
  readonly via: 'Applet' | 'URI';
}

/** Images in the slots, by their ids, where it isn't what was there from the start. */
export interface SimulatedMedia {
  readonly discs: Map<string, Disc | undefined>;
  /** Names that stay after an ejection. */
  readonly left: Map<string, string>;
  readonly verifies: Set<string>;
  readonly authorities: string[];
  /** Insertions that are still refused, and those that were forgotten. */
  busy: number;
  forgotten: number;
}

export function createSimulatedMedia(): SimulatedMedia {
  return { discs: new Map(), left: new Map(), verifies: new Set(), authorities: [], busy: 0, forgotten: 0 };
}

const faultsOf = ({ media }: Quirks): MediaFaults => ({ ...standardMedia, ...media });
const managerPlace = '/redfish/v1/Managers/1/VirtualMedia';
const systemPlace = '/redfish/v1/Systems/1/VirtualMedia';
const place = (quirks: Quirks): string => (quirks.virtualMedia === 'of the system' ? systemPlace : managerPlace);
const slotPath = (quirks: Quirks, { id }: SimulatedSlot): string => `${place(quirks)}/${id}`;
const authoritiesOf = (path: string): string => `${path}/Certificates`;

const discIn = (media: SimulatedMedia, { id, holds }: SimulatedSlot): Disc | undefined =>
  media.discs.has(id) ? media.discs.get(id) : holds;

function slotAt(quirks: Quirks, path: string): SimulatedSlot | undefined {
  if (quirks.virtualMedia === 'none') return undefined;
  return quirks.slots.find((slot) => slotPath(quirks, slot) === path);
}

/** Composes the link of a manager, or a system, to its drives. */
export function virtualMediaLink(quirks: Quirks, of: 'manager' | 'system'): Record<string, unknown> {
  if (quirks.virtualMedia === 'none' || (quirks.virtualMedia === 'of the system') !== (of === 'system')) return {};
  return { VirtualMedia: { '@odata.id': place(quirks) } };
}

export function virtualMediaResources(media: SimulatedMedia, quirks: Quirks): Record<string, Record<string, unknown>> {
  if (quirks.virtualMedia === 'none') return {};
  const resources: Record<string, Record<string, unknown>> = {
    [place(quirks)]: collection(
      'VirtualMediaCollection',
      quirks.slots.map((slot) => slotPath(quirks, slot)),
    ),
  };
  for (const slot of quirks.slots) {
    const path = slotPath(quirks, slot);
    resources[path] = resourceOf(media, quirks, slot);
    if (faultsOf(quirks).imageAuthority === undefined) continue;
    const members = media.authorities.map((_, index) => `${authoritiesOf(path)}/${index + 1}`);
    resources[authoritiesOf(path)] = collection('CertificateCollection', members);
    for (const [index, member] of members.entries()) {
      resources[member] = {
        '@odata.type': '#Certificate.v1_5_0.Certificate',
        Id: String(index + 1),
        Name: 'Authority',
        CertificateString: media.authorities[index],
        CertificateType: 'PEM',
      };
    }
  }
  return resources;
}

function collection(type: string, members: readonly string[]): Record<string, unknown> {
  return {
    '@odata.type': `#${type}.${type}`,
    Name: 'Collection',
    'Members@odata.count': members.length,
    Members: members.map((path) => ({ '@odata.id': path })),
  };
}

function resourceOf(media: SimulatedMedia, quirks: Quirks, slot: SimulatedSlot): Record<string, unknown> {
  const { shows, showsImage, imageAuthority } = faultsOf(quirks);
  const path = slotPath(quirks, slot);
  const disc = discIn(media, slot);
  const image = disc?.via === 'URI' && showsImage ? showsImage(disc.image) : disc?.image;
  const named = image ?? (shows === 'left over' ? media.left.get(slot.id) : undefined);
  const isIn = disc !== undefined;
  const inserted = {
    'as it is': isIn,
    unread: isIn && disc.via === 'Applet',
    'always in': true,
    'left over': isIn ? true : null,
    'never in': null,
  }[shows];
  return {
    '@odata.type': '#VirtualMedia.v1_6_0.VirtualMedia',
    Id: slot.id,
    Name: `Virtual ${slot.id}`,
    MediaTypes: slot.types,
    Image: (quirks.hidesMediaLogin ? named?.replace(/\/\/[^@]*@/, '//***:***@') : named) ?? null,
    Inserted: inserted,
    WriteProtected: true,
    ConnectedVia: shows === 'never in' ? null : isIn ? disc.via : 'NotConnected',
    ...(imageAuthority === undefined
      ? {}
      : { VerifyCertificate: media.verifies.has(slot.id), Certificates: { '@odata.id': authoritiesOf(path) } }),
    ...(quirks.virtualMedia === 'by PATCH' || slot.refuses === 405
      ? {}
      : {
          Actions: {
            '#VirtualMedia.InsertMedia': { target: `${path}/Actions/VirtualMedia.InsertMedia` },
            '#VirtualMedia.EjectMedia': { target: `${path}/Actions/VirtualMedia.EjectMedia` },
          },
        }),
  };
}

/** Answer for a slot that can't be read. */
export function unreadableSlot(quirks: Quirks, path: string): Answer | undefined {
  const status = slotAt(quirks, path)?.unreadable;
  return status === undefined ? undefined : errorAnswer(status, status === 404 ? 'ResourceNotFound' : 'InternalError');
}

/** Methods of a slot and of its authorities beyond reading; `undefined` for another path. */
export function mediaMethods(quirks: Quirks, path: string): readonly string[] | undefined {
  const verifies = faultsOf(quirks).imageAuthority !== undefined;
  if (verifies && quirks.slots.some((slot) => authoritiesOf(slotPath(quirks, slot)) === path)) return ['POST'];
  if (!slotAt(quirks, path)) return undefined;
  return verifies || quirks.virtualMedia === 'by PATCH' ? ['PATCH'] : [];
}

/** A POST: `InsertMedia` and `EjectMedia` of a slot, or one more authority; `undefined` for another path. */
export function virtualMediaAction(state: ServiceState, path: string, body: string): Promise<Answer> | undefined {
  const { quirks } = state;
  const [, place = '', action] =
    /^(.*)\/(?:Actions\/VirtualMedia\.(?=InsertMedia$|EjectMedia$)|(?=Certificates$))(\w+)$/.exec(path) ?? [];
  const slot = slotAt(quirks, place);
  if (!slot) return undefined;
  const asked = parseObject(body);
  if (asked === undefined) return Promise.resolve(errorAnswer(400, 'MalformedJSON'));
  if (action === 'Certificates') return addAuthority(state, asked);
  if (quirks.virtualMedia === 'by PATCH' || slot.refuses === 405) return undefined;
  return action === 'EjectMedia' ? eject(state, slot) : insert(state, slot, asked);
}

/** A PATCH of a slot. */
export function patchVirtualMedia(
  state: ServiceState,
  path: string,
  body: Readonly<Record<string, unknown>>,
): Promise<Answer> | undefined {
  const slot = slotAt(state.quirks, path);
  if (!slot) return undefined;
  if ('VerifyCertificate' in body) {
    return perform(state, () => {
      const { verifies } = state.media;
      if (!faultsOf(state.quirks).keepsVerify) verifies[body['VerifyCertificate'] === true ? 'add' : 'delete'](slot.id);
      return Promise.resolve();
    });
  }
  return body['Image'] === null ? eject(state, slot) : insert(state, slot, body);
}

function addAuthority(state: ServiceState, asked: Readonly<Record<string, unknown>>): Promise<Answer> {
  const pem = asked['CertificateString'];
  if (typeof pem !== 'string' || asked['CertificateType'] !== 'PEM') {
    return Promise.resolve(errorAnswer(400, 'PropertyMissing'));
  }
  return perform(state, () => Promise.resolve(void state.media.authorities.push(new X509Certificate(pem).toString())));
}

async function insert(
  state: ServiceState,
  slot: SimulatedSlot,
  asked: Readonly<Record<string, unknown>>,
): Promise<Answer> {
  const { media, quirks } = state;
  const faults = faultsOf(quirks);
  const image = asked['Image'];
  if (slot.refuses !== undefined) return errorAnswer(slot.refuses, 'InternalError');
  if (typeof image !== 'string') return errorAnswer(400, 'ActionParameterMissing');
  const missing = faults.needs.find((name) => !(name in asked));
  if (missing !== undefined) return refusal(faults, 'ActionParameterMissing', missing);
  const refused = faults.refuses.find((name) => name in asked);
  if (refused !== undefined) return refusal(faults, 'ActionParameterNotSupported', refused);
  if (discIn(media, slot)) return errorAnswer(409, 'ResourceInUse');
  if (media.busy > 0) {
    media.busy -= 1;
    return errorAnswer(500, 'InternalError');
  }
  if (image.startsWith('https:') && media.verifies.has(slot.id) && !isTrusted(media, faults)) {
    return errorAnswer(400, 'ResourceAtUriUnauthorized', {
      text: 'The certificate of the image server is not trusted.',
    });
  }
  return perform(state, async () => {
    media.forgotten += 1;
    if (media.forgotten <= faults.forgets) return;
    media.discs.set(slot.id, { image, via: 'URI' });
    try {
      await state.machine.setMedia?.(shownToMachine(state));
    } catch (error) {
      media.discs.set(slot.id, undefined);
      throw error;
    }
  });
}

async function eject(state: ServiceState, slot: SimulatedSlot): Promise<Answer> {
  const { media, quirks } = state;
  const faults = faultsOf(quirks);
  const disc = discIn(media, slot);
  const isKept = disc !== undefined && disc === slot.holds && slot.holds.isKept;
  if (isKept || (!disc && faults.ejectsFullOnly)) return errorAnswer(400, 'OperationNotAllowed');
  return perform(state, async () => {
    if (disc) media.busy = faults.busyAfterEject;
    media.discs.set(slot.id, undefined);
    if (disc) media.left.set(slot.id, disc.image);
    await state.machine.setMedia?.(shownToMachine(state));
  });
}

/** The first image that was put in by its URL: a person's is no system that boots here. */
function shownToMachine({ media, quirks }: ServiceState): string | undefined {
  return quirks.slots.flatMap((slot) => discIn(media, slot) ?? []).find(({ via }) => via === 'URI')?.image;
}

function isTrusted({ authorities }: SimulatedMedia, { imageAuthority = '' }: MediaFaults): boolean {
  return authorities.includes(new X509Certificate(imageAuthority).toString());
}

function refusal({ refusal: { status, named } }: MediaFaults, message: string, name: string): Answer {
  if (named === 'in words') {
    const text = `The action InsertMedia is refused for its parameter ${name}.`;
    return { status, body: { error: { code: 'Base.1.8.GeneralError', message: text } } };
  }
  const related = named === 'as related' ? { RelatedProperties: [`#/${name}`] } : {};
  const info = { MessageId: `Base.1.8.${message}`, Message: 'A parameter is missing or not known.', ...related };
  const error = { code: `Base.1.8.${message}`, message: 'See @Message.ExtendedInfo.', '@Message.ExtendedInfo': [info] };
  return { status, body: { error } };
}
