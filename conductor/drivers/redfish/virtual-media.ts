import { z } from 'zod';
import { callDeadline, stoppedError } from '#conductor/drivers/call-deadline.ts';
import type { VirtualMediaInterface } from '#conductor/drivers/interfaces.ts';
import { readMemberPaths } from '#conductor/drivers/redfish/collection.ts';
import { attempted, firstTaken } from '#conductor/drivers/redfish/errors.ts';
import { patchResource, type Resource, readResource } from '#conductor/drivers/redfish/resource.ts';
import { Action, lenient, Manager } from '#conductor/drivers/redfish/schemas.ts';
import type { RedfishSystem } from '#conductor/drivers/redfish/system.ts';
import { finishTask } from '#conductor/drivers/redfish/task.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** BMCs answer once they have looked at the image, which they fetch for it. */
const timeoutMs = 180_000;
const pollMs = 1000;

const VirtualMedia = z.looseObject({
  MediaTypes: lenient(z.array(z.string())),
  Image: lenient(z.string()),
  Inserted: lenient(z.boolean()),
  Actions: lenient(z.looseObject({ '#VirtualMedia.InsertMedia': Action, '#VirtualMedia.EjectMedia': Action })),
});
type Drive = Resource<z.infer<typeof VirtualMedia>>;

/** The virtual CD drive of the system, or of a manager of it (DMTF VirtualMedia schema). */
export function redfishVirtualMedia(system: RedfishSystem): VirtualMediaInterface {
  const { client, clock } = system;
  const read = (path: string, signal: AbortSignal): Promise<Drive> => readResource(client, path, VirtualMedia, signal);

  const write = (
    drive: Drive,
    ask: { readonly what: string; readonly action: string | undefined; readonly bodies: readonly object[] },
    signal: AbortSignal,
  ): Promise<void> => {
    const { what, action, bodies } = ask;
    const send = async (body: object): Promise<void> => {
      const answer = await (action === undefined
        ? patchResource(client, drive, body, signal)
        : client.request({ method: 'POST', path: action, body, signal }));
      await finishTask(client, answer, what, { clock, signal, isLookedAt: true });
    };
    return attempted(what, () => firstTaken(bodies, send));
  };

  const confirm = async (drive: Drive, isFull: boolean, what: string, signal: AbortSignal): Promise<void> => {
    while (holdsImage(await read(drive.path, signal)) !== isFull) {
      await clock.sleep(pollMs, signal).catch(() => {
        throw stoppedError(signal, `${what}: the BMC does not show it`);
      });
    }
  };

  const empty = async (drive: Drive, signal: AbortSignal): Promise<void> => {
    if (!holdsImage(drive)) return;
    const what = `eject virtual media at ${client.origin}`;
    const action = drive.data.Actions?.['#VirtualMedia.EjectMedia']?.target;
    const bodies = action === undefined ? [{ Image: null, Inserted: false }, { Image: null }] : [{}];
    await write(drive, { what, action, bodies }, signal);
    await confirm(drive, false, what, signal);
  };

  return {
    list: async (options) => {
      const { signal } = callDeadline(options, timeoutMs);
      const drive = await findDrive(system, signal);
      const { MediaTypes: mediaTypes, Image: image } = drive.data;
      return [{ mediaTypes: mediaTypes ?? [], inserted: holdsImage(drive), image: image || null }];
    },
    eject: async (options) => {
      const { signal } = callDeadline(options, timeoutMs);
      const drive = await findDrive(system, signal);
      if (options?.only?.(drive.data.Image ?? '') !== false) await empty(drive, signal);
    },
    insert: async (url, options) => {
      const { signal } = callDeadline(options, timeoutMs);
      const what = `insert virtual media at ${client.origin}`;
      const drive = await findDrive(system, signal);
      await empty(drive, signal);
      const action = drive.data.Actions?.['#VirtualMedia.InsertMedia']?.target;
      const plain = { Image: url };
      const protocol = url.startsWith('https:') ? 'HTTPS' : 'HTTP';
      const transfer = { ...plain, TransferMethod: 'Stream', TransferProtocolType: protocol };
      const state = { Inserted: true, WriteProtected: true };
      // python-sushy's experience: Supermicro X11 refuses the state with the action, Lenovo fills no drive by PATCH without
      const bodies = action === undefined ? [{ ...plain, ...state }, plain] : [plain, transfer, { ...plain, ...state }];
      await write(drive, { what, action, bodies }, signal);
      await confirm(drive, true, what, signal);
    },
  };
}

/** Some BMCs keep the image's name after the ejection, others never say `Inserted`. */
function holdsImage({ data }: Drive): boolean {
  return data.Inserted ?? (data.Image ?? '') !== '';
}

/** @throws AppError `not_supported` when the BMC has no virtual drive for CDs */
async function findDrive(system: RedfishSystem, signal: AbortSignal): Promise<Drive> {
  const { client } = system;
  const { data, path } = await system.read(signal);
  const managers = (data.Links?.ManagedBy ?? []).map((manager) => manager['@odata.id']);
  const places = [
    () => Promise.resolve(data.VirtualMedia),
    ...managers.map((manager) => async () => (await readResource(client, manager, Manager, signal)).data.VirtualMedia),
  ];
  for (const place of places) {
    const collection = await place();
    if (!collection) continue;
    for (const member of await readMemberPaths(client, collection['@odata.id'], signal)) {
      const drive = await readResource(client, member, VirtualMedia, signal);
      if (drive.data.MediaTypes?.some((type) => type === 'CD' || type === 'DVD')) return drive;
    }
  }
  throw new AppError(
    'not_supported',
    `the system ${path} at ${client.origin} has no virtual CD drive; set boot_interface to 'ipxe' and enable PXE at a port`,
  );
}
