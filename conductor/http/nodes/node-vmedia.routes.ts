import { z } from 'zod';
import { VirtualMedia } from '#conductor/api/node-parts.ts';
import type { VirtualMediaInterface } from '#conductor/drivers/interfaces.ts';
import { findOpenFlow } from '#conductor/flows/log/flow-store.ts';
import { requireNoFlow } from '#conductor/flows/request/require-no-flow.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, fieldsQuery, routesOf } from '#conductor/http/routing/define-routes.ts';
import { flowKinds, isBesideStates } from '#conductor/model/flows/flow-kinds.ts';
import { checkFetched } from '#conductor/nodes/boot/image-info.ts';
import { changeNote, writeChangeNote } from '#conductor/nodes/node-history.ts';
import { bootsFromVirtualMedia } from '#conductor/nodes/node-interfaces.ts';
import { withNodeLock } from '#conductor/nodes/node-lock.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

const route = routesOf('node management');
const path = '/v1/nodes/{node}/vmedia';
const since = 89;
const sinceList = 93;

const list = route.get(
  path,
  "Ask the BMC what is in the machine's virtual drives for CDs",
  answers(200, 'drives', VirtualMedia),
  { since: sinceList },
);

const attach = route.post(
  path,
  'Put an image into an empty virtual CD drive of the machine, in place of what is there where none is empty',
  answers(204, 'the BMC shows it'),
  {
    since: since,
    limits: 'usual',
    body: z.strictObject({
      device_type: z.enum(['cdrom', 'disk', 'floppy'], { error: 'must be cdrom, disk or floppy' }),
      image_url: z
        .string()
        .regex(/^https?:\/\/[\x21-\x7e]+$/, { error: 'must be an http:// or https:// URL, which the BMC fetches' }),
      image_download_source: z
        .enum(['http', 'local'], { error: 'must be http: the BMC fetches the image itself' })
        .optional(),
    }),
  },
);

const detach = route.delete(path, "Empty the machine's virtual CD drives", answers(204, 'done'), {
  since: since,
  query: z.strictObject({ device_types: fieldsQuery }),
});

/**
 * Serves `/v1/nodes/{node}/vmedia` (Ironic, 1.89; reading 1.93). A flow of a node that boots from virtual media has the
 * drive for itself, while it waits, too.
 */
export function nodeVmediaRoutes(app: ApiApp, context: HttpContext): void {
  const find = async (ident: string) => {
    const node = await getNode(context.db, ident);
    const { virtualMedia } = context.drivers.connect(node, { node: node.uuid });
    if (virtualMedia) return { node, virtualMedia };
    throw new AppError('not_supported', `Driver ${node.driver} does not support vmedia: a redfish node has it.`);
  };

  const change = async (
    ident: string,
    act: (media: VirtualMediaInterface, signal: AbortSignal) => Promise<unknown>,
  ) => {
    const { node } = await find(ident);
    await withNodeLock(context, node.uuid, async (signal) => {
      // no flow begins while the lock is held
      const { node: current, virtualMedia } = await find(node.uuid);
      const flow = bootsFromVirtualMedia(current) ? await findOpenFlow(context.db, node.uuid) : undefined;
      if (flow && !isBesideStates(flowKinds[flow.kind])) requireNoFlow(current, flow, 'vmedia');
      await act(virtualMedia, signal);
    });
    return node.uuid;
  };

  app.openapi(list, async (c) => {
    const { virtualMedia } = await find(c.req.valid('param').node);
    const drives = await virtualMedia.list();
    return c.json(
      drives.map(({ mediaTypes, inserted, image }) => ({
        media_types: [...mediaTypes],
        inserted,
        image: image && withoutBootMedium(image),
      })),
    );
  });

  app.openapi(attach, async (c) => {
    const { device_type: type, image_url: url } = c.req.valid('json');
    requireCd('device_type', [type]);
    checkFetched('image_url', url, context.config.outbound.images);
    const { node } = c.req.valid('param');
    const uuid = await change(node, (media, signal) => media.insert(url, { signal }));
    await writeChangeNote(context.db, uuid, changeNote(context, c.get('caller'), 'virtual media is attached'));
    return c.body(null, 204);
  });

  app.openapi(detach, async (c) => {
    const types = c.req.valid('query').device_types?.split(',') ?? [];
    if (types.length > 0) requireCd('device_types', types);
    const uuid = await change(c.req.valid('param').node, (media, signal) => media.eject({ signal }));
    await writeChangeNote(context.db, uuid, changeNote(context, c.get('caller'), 'virtual media is detached'));
    return c.body(null, 204);
  });
}

/** Hides a boot medium: its address carries this boot's token. */
function withoutBootMedium(url: string): string {
  return url.replace(/(\/media\/[^/]+\/)[^/]+(?=\.iso$)/, '$1******');
}

/** @throws AppError `not_supported` */
function requireCd(field: string, types: readonly string[]): void {
  const other = types.find((type) => type !== 'cdrom');
  if (other === undefined) return;
  throw new AppError('not_supported', `${field}: Baton fills the virtual drive for CDs only: cdrom, not '${other}'.`);
}
