import type { ActionDryRun } from '#conductor/api/actions.ts';
import { foreign, type Html, html } from '#conductor/board/render/html.ts';
import { renderTable } from '#conductor/board/render/render-table.ts';
import { drawGraph } from '#conductor/board/render/site/draw-graph.ts';

const mostMembers = 20;

/** Renders what a site action would do: what is wrong with the documents, and the groups in their order. Pure. */
export function renderDryRun({ committed_rev_id: revision, groups, validations }: ActionDryRun): Html {
  const faults = validations.map(
    ({ level, message, document }) =>
      html`<li class="${level === 'Error' ? 'failed' : ''}">${level}: ${document && html`${foreign(`${document.schema} ${document.name}`)}: `}${foreign(message)}</li>`,
  );
  const nodes = new Set(groups.flatMap(({ members }) => members)).size;
  const rows = groups.map(({ name, critical, depends_on: after, members }) => {
    const more = members.length > mostMembers ? ` and ${members.length - mostMembers} more` : '';
    const some = html`${foreign(members.slice(0, mostMembers).join(', ') || 'none')}${more}`;
    const cells = [foreign(name), critical ? 'yes' : '', foreign(after.join(', ')), String(members.length), some];
    return { cells };
  });
  const graph = drawGraph(groups.map((group) => ({ ...group, member_count: group.members.length })));
  return html`${faults.length > 0 && html`<ul class="history">${faults}</ul>`}
    <p>Revision ${revision}: ${groups.length} ${groups.length === 1 ? 'group' : 'groups'}, ${nodes} ${nodes === 1 ? 'node' : 'nodes'}. Nodes that are as the documents say are left as they are.</p>
    <div class="graph" role="region" aria-label="Groups as a graph" tabindex="0">${graph}</div>
    ${renderTable(['Group', 'Its failure fails all', 'After', 'Nodes', 'Which'], rows)}`;
}
