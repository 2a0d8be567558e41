import { z } from 'zod';
import { Image, type ImageAnswer, ImagePrune, MeasuredImage, PrunedImages } from '#conductor/api/images.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, routesOf } from '#conductor/http/routing/define-routes.ts';
import {
  getImage,
  isAsListed,
  listChunks,
  listImages,
  measureImage,
  namesOf,
  removeImage,
  requireWhole,
  type StoredImage,
  sweepChunks,
} from '#conductor/images/image-store.ts';
import { findImageUsers, type ImageUser } from '#conductor/images/image-users.ts';
import { findReplacedUnderway } from '#conductor/images/kept-chunks.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { apiTime } from '#conductor/nodes/node-view.ts';
import { findSealedImages } from '#conductor/sites/revisions/find-users.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { nameSome } from '#shared/words.ts';

const route = routesOf("images in chunks (Baton's own)");
const path = '/v1/images';
const onePath = `${path}/{image}` as const;
const dayMs = 24 * 3_600_000;

const list = route.get(
  path,
  'List the images in chunks on the conductor that answers, and what uses them',
  answers(200, 'images, by name', z.strictObject({ images: z.array(Image) })),
);

const show = route.get(
  onePath,
  'Show one image in chunks, and what it takes',
  answers(200, 'the image', MeasuredImage),
);

const remove = route.delete(
  onePath,
  'Remove an image that nothing uses; its chunks are left to a prune',
  answers(204, 'gone'),
);

const prune = route.post(
  `${path}/prune`,
  'Remove images that nothing uses, and chunks older than a day that no image has',
  answers(200, 'what was removed, and what was kept', PrunedImages),
  { limits: 'usual', body: ImagePrune },
);

type FindAllUsers = () => ReturnType<typeof findImageUsers>;

/** Serves `/v1/images`. */
export function imageRoutes(
  app: ApiApp,
  { db, secrets, clock, config, log }: Pick<HttpContext, 'db' | 'secrets' | 'clock' | 'config' | 'log'>,
): void {
  const directory = config.imagesDirectory;
  const findAllUsers: FindAllUsers = async () => findImageUsers(db, await findSealedImages({ db, secrets }));
  const viewAll = async (images: readonly StoredImage[]): Promise<readonly ImageAnswer[]> => {
    const users = await findAllUsers();
    return images.map((image) => view(image, usersOf(image, images, users)));
  };

  const findUsers = async (image: StoredImage): Promise<readonly ImageUser[]> => {
    const names = await namesOf(directory, image);
    const users = await findAllUsers();
    return names.flatMap((name) => users.get(name) ?? []);
  };

  app.openapi(list, async (c) => c.json({ images: [...(await viewAll(await listImages(directory)))] }));

  app.openapi(show, async (c) => {
    const image = await getImage(directory, c.req.valid('param').image);
    const { storedBytes, ownBytes } = await measureImage(directory, image);
    const viewed = view(image, await findUsers(image));
    return c.json({ ...viewed, stored_bytes: storedBytes, own_bytes: ownBytes });
  });

  app.openapi(remove, async (c) => {
    const image = await getImage(directory, c.req.valid('param').image);
    const { name } = image;
    const users = await findUsers(image);
    if (users.length > 0) {
      throw new AppError('conflict', `image ${name} is used by ${nameSome(users.map(describeUser), 3)}`);
    }
    await removeImage(directory, name);
    log.info({ image: name, user: c.get('caller').user }, 'an image was removed');
    return c.body(null, 204);
  });

  app.openapi(prune, async (c) => {
    const { older_than_days: days, dry_run: isDry } = c.req.valid('json');
    const before = clock.now().getTime() - days * dayMs;
    const all = await listImages(directory);
    const viewed = await viewAll(all);
    const isKept = ({ users, added_at }: ImageAnswer): boolean =>
      users.length > 0 || new Date(added_at).getTime() > before;
    const unused = new Set(viewed.filter((image) => !isKept(image)).map(({ name }) => name));
    if (isDry) return c.json({ images: [...unused], kept: viewed.filter(isKept), chunks: 0, bytes: 0 });
    requireWhole(all.filter(({ name }) => !unused.has(name)));
    await requireNoneUnderway(db, all);
    const removing = all.filter(({ name }) => unused.has(name));
    const images = await removeUnused(findAllUsers, directory, removing);
    log.info({ images, user: c.get('caller').user }, 'images were pruned');
    const { images: left, ids: needed } = await listChunks(directory);
    requireWhole(left);
    await requireNoneUnderway(db, left);
    const swept = await sweepChunks(directory, needed, clock);
    return c.json({ images: [...images], kept: [...(await viewAll(left))], ...swept });
  });
}

/** @throws AppError `conflict` */
async function requireNoneUnderway(db: Queryable, images: readonly StoredImage[]): Promise<void> {
  const underway = await findReplacedUnderway(db, images);
  if (underway.length === 0) return;
  const why = 'a flow is open there, and its image was added again, or has no SHA-256 to compare';
  throw new AppError('conflict', `${nameSome(underway, 3)}: ${why}: prune once that has ended`);
}

/**
 * All names of a file or none, and none that is used or added again meanwhile.
 * @returns names of those removed
 */
async function removeUnused(
  findAllUsers: FindAllUsers,
  directory: string,
  images: readonly StoredImage[],
): Promise<string[]> {
  const removed: string[] = [];
  for (const names of Map.groupBy(images, ({ file }) => file).values()) {
    const users = await findAllUsers();
    const asListed = await Promise.all(names.map((image) => isAsListed(directory, image)));
    if (asListed.includes(false) || names.some(({ name }) => users.has(name))) continue;
    for (const { name } of names) {
      await removeImage(directory, name);
      removed.push(name);
    }
  }
  return removed;
}

/** Finds users by all names of the image's file. */
function usersOf(
  { file }: StoredImage,
  all: readonly StoredImage[],
  users: ReadonlyMap<string, readonly ImageUser[]>,
): readonly ImageUser[] {
  return all.filter((image) => image.file === file).flatMap(({ name }) => users.get(name) ?? []);
}

function view({ name, sha256, addedAt, size }: StoredImage, users: readonly ImageUser[]): ImageAnswer {
  return {
    name,
    checksum: `sha256:${sha256}`,
    size: size?.imageBytes ?? null,
    chunks: size?.chunks ?? null,
    added_at: apiTime(addedAt),
    users: [...users],
  };
}

function describeUser({ kind, id, name }: ImageUser): string {
  return `${kind.replace('_', ' ')} ${name ?? id}`;
}
