import { choicesOf } from '#conductor/board/page/ask-about-nodes.ts';
import type { Fleet } from '#conductor/board/page/follow-fleet.ts';
import { decodeAddress } from '#conductor/board/page/page.ts';
import type { Item } from '#conductor/board/page/paint-items.ts';
import type { Picture, View, ViewButton } from '#conductor/board/page/show-view.ts';
import { actionsForRows } from '#conductor/board/render/board-actions.ts';
import { arrangeRacks, type Rack } from '#conductor/board/render/fleet/arrange-racks.ts';
import {
  isBigRoom,
  rackId,
  renderRack,
  renderRackCard,
  renderRacksNote,
} from '#conductor/board/render/fleet/render-racks.ts';
import { type Html, html, nothing } from '#conductor/board/render/html.ts';

/** Nothing is read beside the fleet, which is followed. */
const againMs = 3_600_000;
const minuteMs = 60_000;

/** `#racks/`: all racks; `#racks/r7`: that one, whose nodes may be acted on. */
export const racksView: View = {
  title: 'Racks',
  read: async (rest, { fleet, role }) =>
    rest === '' ? pictureRacks(fleet) : pictureRack(fleet, decodeAddress(rest), role),
};

function pictureRacks(fleet: Fleet): Picture {
  let racks: readonly Rack[] = [];
  /** Cards as they were made, with the minute in which they were: waits are shown by minutes. */
  const made = new WeakMap<Rack, { readonly at: string; readonly card: Html }>();
  const cardOf = (rack: Rack, isBrief: boolean, now: Date): Html => {
    const at = `${isBrief ? 'brief' : 'whole'} ${Math.floor(now.getTime() / minuteMs)}`;
    const former = made.get(rack);
    if (former?.at === at) return former.card;
    const card = renderRackCard(rack, { isBrief, now });
    made.set(rack, { at, card });
    return card;
  };
  return {
    render: () => {
      if (!fleet.isKnown) return [html`<p class="loading">Reading the fleet…</p>`];
      racks = arrangeRacks(fleet.flows.values(), fleet.nodes.values(), racks);
      return [racks.length === 0 ? nothing : html`<ul id="racks" class="racks"></ul>`, nothing, renderRacksNote(racks)];
    },
    items: (now) => {
      const isBrief = isBigRoom(racks);
      const cards = racks.map((rack): Item => ({ id: rackId(rack), html: () => cardOf(rack, isBrief, now) }));
      return racks.length === 0 ? undefined : { into: 'racks', cards };
    },
    againMs,
  };
}

function pictureRack(fleet: Fleet, wanted: string, role: string): Picture {
  const chosen = (): Rack | undefined => {
    const nodes = [...fleet.nodes.values()].filter(({ rack }) => (rack ?? '') === wanted);
    return arrangeRacks(fleet.flows.values(), nodes)[0];
  };
  return {
    render: (now) => [
      fleet.isKnown ? renderRack(wanted, chosen(), now) : html`<p class="loading">Reading the fleet…</p>`,
    ],
    ...(role === 'reader' ? {} : { buttons: [actButton(chosen)] }),
    againMs,
  };
}

function actButton(chosen: () => Rack | undefined): ViewButton {
  return {
    name: 'act',
    title: 'Act on this rack…',
    asks: {
      meaning: 'Of each, those that it can be done to.',
      get choices() {
        return choicesOf(actionsForRows((chosen()?.members ?? []).map(({ row }) => row)));
      },
    },
  };
}
