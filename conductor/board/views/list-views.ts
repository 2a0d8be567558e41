import type { ImageAnswer, PrunedImagesAnswer } from '#conductor/api/images.ts';
import type { SettingInForce } from '#conductor/api/records.ts';
import { get, getAll, send } from '#conductor/board/data/ask-api.ts';
import type { Question } from '#conductor/board/page/ask-first.ts';
import type { View, ViewButton } from '#conductor/board/page/show-view.ts';
import { html } from '#conductor/board/render/html.ts';
import {
  type ListedAllocation,
  type ListedConductor,
  renderAllocations,
  renderConductors,
  renderImages,
  renderSettings,
} from '#conductor/board/render/render-lists.ts';

const againMs = 5000;
const rarelyMs = 60_000;
const allocationFields =
  'uuid,name,state,resource_class,traits,node_uuid,owner,last_error,waiting_for,wait_until,created_at';

/** `#allocations/` */
export const allocationsView: View = {
  title: 'Allocations',
  read: async (_rest, { role, nameOf }) => {
    const allocations = await getAll<ListedAllocation>(`v1/allocations?fields=${allocationFields}`, 'allocations');
    const mayChange = role !== 'reader';
    return {
      render: (now) => [renderAllocations(allocations, { now, nameOf, mayChange })],
      buttons: mayChange ? allocations.map(releaseButton) : [],
      againMs,
    };
  },
};

function releaseButton({ uuid, name, node_uuid: node }: ListedAllocation): ViewButton {
  const title = `Release ${name ?? uuid}`;
  const meaning =
    node === null
      ? 'It waits for a node no longer.'
      : 'The node is free for others from then on; an instance that runs on it goes on until it is undeployed.';
  const sending = [{ name: name ?? uuid, request: { method: 'DELETE', path: `v1/allocations/${uuid}` } }];
  return { name: `release-${uuid}`, title, isInRow: true, asks: { title, meaning, prepare: () => ({ sending }) } };
}

/** `#images/`: in chunks, on the conductor that answers. */
export const imagesView: View = {
  title: 'Images',
  read: async (_rest, { role }) => {
    const { images } = await get<{ readonly images: readonly ImageAnswer[] }>('v1/images');
    const mayChange = role === 'admin';
    const unused = images.filter(({ users }) => users.length === 0);
    return {
      render: (now) => [renderImages(images, { now, mayChange })],
      buttons: mayChange && images.length > 0 ? [pruneButton, ...unused.map(removeButton)] : [],
      againMs: rarelyMs,
    };
  },
};

function removeButton({ name }: ImageAnswer): ViewButton {
  const title = `Remove ${name}`;
  const meaning = 'Its index is deleted. Chunks that no other image has stay until a prune.';
  const request = { method: 'DELETE', path: `v1/images/${encodeURIComponent(name)}` };
  return {
    name: `remove-${name}`,
    title,
    isInRow: true,
    asks: { title, meaning, prepare: () => ({ sending: [{ name, request }] }) },
  };
}

const prune: Question = {
  title: 'Prune images',
  meaning: 'Images that nothing uses and that are older than 7 days go, and chunks that no image has.',
  asking: 'Asking what would go…',
  prepare: async () => {
    const request = (dryRun: boolean) => ({ method: 'POST', path: 'v1/images/prune', body: { dry_run: dryRun } });
    const { images } = (await (await send(request(true))).json()) as PrunedImagesAnswer;
    const names = images.length === 0 ? 'No image' : images.join(', ');
    return { html: html`<p>Would go: ${names}</p>`, sending: [{ name: 'images', request: request(false) }] };
  },
};
const pruneButton: ViewButton = { name: 'prune', title: 'Prune…', asks: prune };

/** `#conductors/` */
export const conductorsView: View = {
  title: 'Conductors',
  read: async (_rest, { countWork }) => {
    const fields = 'hostname,conductor_group,alive,drivers,created_at,updated_at';
    const { conductors } = await get<{ readonly conductors: readonly ListedConductor[] }>(
      `v1/conductors?fields=${fields}&limit=1000`,
    );
    return { render: (now) => [renderConductors(conductors, { now, work: countWork() })], againMs };
  },
};

/** `#settings/`: of the conductor that answers. */
export const settingsView: View = {
  title: 'Settings in force',
  read: async () => {
    const answer = await get<{ readonly conductor: string; readonly settings: readonly SettingInForce[] }>(
      'v1/settings',
    );
    return { render: () => [renderSettings(answer)], againMs: rarelyMs };
  },
};
