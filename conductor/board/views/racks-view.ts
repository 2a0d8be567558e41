import { choicesOf } from '#conductor/board/page/ask-about-nodes.ts';
import { decoded } from '#conductor/board/page/page.ts';
import type { View, ViewButton } from '#conductor/board/page/show-view.ts';
import { arrangeRacks, type Rack } from '#conductor/board/render/arrange-racks.ts';
import { actionsForRows } from '#conductor/board/render/board-actions.ts';
import { html } from '#conductor/board/render/html.ts';
import { renderRack, renderRacks } from '#conductor/board/render/render-racks.ts';

/** Nothing is read beside the fleet, which is followed. */
const againMs = 3_600_000;

/** `#racks/`: all racks; `#racks/r7`: that one, whose nodes may be acted on. */
export const racksView: View = {
  title: 'Racks',
  read: async (rest, { fleet, role }) => {
    const all = (): Rack[] => arrangeRacks(fleet.flows.values(), fleet.nodes);
    const wanted = rest === '' ? undefined : decoded(rest);
    const chosen = (): Rack | undefined => all().find(({ name }) => (name ?? '') === wanted);
    return {
      render: (now) => {
        if (!fleet.isKnown) return [html`<p class="loading">Reading the fleet…</p>`];
        return [wanted === undefined ? renderRacks(all(), now) : renderRack(wanted, chosen(), now)];
      },
      ...(wanted === undefined || role === 'reader' ? {} : { buttons: [actButton(chosen)] }),
      againMs,
    };
  },
};

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
