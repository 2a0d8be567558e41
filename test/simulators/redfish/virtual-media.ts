import { type Answer, errorAnswer, parseObject } from '#test/simulators/redfish/answers.ts';
import type { Quirks } from '#test/simulators/redfish/faults.ts';
import type { ServiceState } from '#test/simulators/redfish/service-state.ts';
import { perform } from '#test/simulators/redfish/tasks.ts';

/** A floppy and a CD drive, after DMTF's VirtualMedia schema. */

const managerPlace = '/redfish/v1/Managers/1/VirtualMedia';
const systemPlace = '/redfish/v1/Systems/1/VirtualMedia';
const place = (quirks: Quirks): string => (quirks.virtualMedia === 'of the system' ? systemPlace : managerPlace);
export const cdPath = (quirks: Quirks): string => `${place(quirks)}/CD`;

/** What a manager, or a system, says of where its drives are. */
export function virtualMediaLink(quirks: Quirks, of: 'manager' | 'system'): Record<string, unknown> {
  if (quirks.virtualMedia === 'none' || (quirks.virtualMedia === 'of the system') !== (of === 'system')) return {};
  return { VirtualMedia: { '@odata.id': place(quirks) } };
}

export function virtualMediaResources(
  image: string | undefined,
  quirks: Quirks,
): Record<string, Record<string, unknown>> {
  if (quirks.virtualMedia === 'none') return {};
  const drive = (id: string, types: readonly string[], inside: string | undefined): Record<string, unknown> => ({
    '@odata.type': '#VirtualMedia.v1_4_0.VirtualMedia',
    Id: id,
    Name: `Virtual ${id}`,
    MediaTypes: types,
    Image: (quirks.hidesMediaLogin ? inside?.replace(/\/\/[^@]*@/, '//***:***@') : inside) ?? null,
    Inserted: inside !== undefined,
    WriteProtected: true,
    ConnectedVia: inside === undefined ? 'NotConnected' : 'URI',
    ...(quirks.virtualMedia === 'by PATCH'
      ? {}
      : {
          Actions: {
            '#VirtualMedia.InsertMedia': { target: `${place(quirks)}/${id}/Actions/VirtualMedia.InsertMedia` },
            '#VirtualMedia.EjectMedia': { target: `${place(quirks)}/${id}/Actions/VirtualMedia.EjectMedia` },
          },
        }),
  });
  const members = ['Floppy', 'CD'].map((id) => `${place(quirks)}/${id}`);
  return {
    [place(quirks)]: {
      '@odata.type': '#VirtualMediaCollection.VirtualMediaCollection',
      Name: 'Virtual media',
      'Members@odata.count': members.length,
      Members: members.map((path) => ({ '@odata.id': path })),
    },
    [`${place(quirks)}/Floppy`]: drive('Floppy', ['Floppy', 'USBStick'], undefined),
    [cdPath(quirks)]: drive('CD', ['CD', 'DVD'], image),
  };
}

/** `InsertMedia` and `EjectMedia` of the CD drive; `undefined` for another path. */
export function virtualMediaAction(state: ServiceState, path: string, body: string): Promise<Answer> | undefined {
  const { quirks } = state;
  const [, action] = /\/CD\/Actions\/VirtualMedia\.(InsertMedia|EjectMedia)$/.exec(path) ?? [];
  if (action === undefined || !path.startsWith(place(quirks)) || quirks.virtualMedia === 'by PATCH') return undefined;
  const asked = parseObject(body);
  if (asked === undefined) return Promise.resolve(errorAnswer(400, 'MalformedJSON'));
  if (action === 'EjectMedia') return change(state, undefined);
  if (quirks.virtualMedia === 'by its protocol' && asked['TransferProtocolType'] === undefined) {
    return Promise.resolve(errorAnswer(400, 'ActionParameterMissing'));
  }
  return insert(state, asked['Image']);
}

/** A PATCH of the CD drive. */
export function patchVirtualMedia(state: ServiceState, body: Readonly<Record<string, unknown>>): Promise<Answer> {
  return body['Image'] === null ? change(state, undefined) : insert(state, body['Image']);
}

function insert(state: ServiceState, image: unknown): Promise<Answer> {
  if (typeof image !== 'string') return Promise.resolve(errorAnswer(400, 'ActionParameterMissing'));
  if (state.media !== undefined) return Promise.resolve(errorAnswer(409, 'ResourceInUse'));
  return change(state, image);
}

function change(state: ServiceState, image: string | undefined): Promise<Answer> {
  return perform(state, async () => {
    await state.machine.setMedia?.(image);
    state.media = image;
  });
}
