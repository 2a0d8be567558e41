import type { ActionDryRun } from '#conductor/api/actions.ts';
import { drawGraph } from '#conductor/board/render/draw-graph.ts';
import { foreign } from '#conductor/board/render/render-board.ts';
import { renderTable } from '#conductor/board/render/render-table.ts';

const mostMembers = 20;

/** Renders what a site action would do: what is wrong with the documents, and the groups in their order. Pure. */
export function renderDryRun({ committed_rev_id: revision, groups, validations }: ActionDryRun): string {
  const faults = validations.map(
    ({ level, message, document }) =>
      `<li class="${level === 'Error' ? 'failed' : ''}">${level}: ${document ? `${foreign(`${document.schema} ${document.name}`)}: ` : ''}${foreign(message)}</li>`,
  );
  const nodes = new Set(groups.flatMap(({ members }) => members)).size;
  const rows = groups.map(({ name, critical, depends_on: after, members }) => {
    const more = members.length > mostMembers ? ` and ${members.length - mostMembers} more` : '';
    const some = `${foreign(members.slice(0, mostMembers).join(', ') || 'none')}${more}`;
    const cells = [foreign(name), critical ? 'yes' : '', foreign(after.join(', ')), String(members.length), some];
    return { cells };
  });
  const graph = drawGraph(groups.map((group) => ({ ...group, member_count: group.members.length })));
  return `${faults.length === 0 ? '' : `<ul class="history">${faults.join('')}</ul>`}
    <p>Revision ${revision}: ${groups.length} ${groups.length === 1 ? 'group' : 'groups'}, ${nodes} ${nodes === 1 ? 'node' : 'nodes'}. Nodes that are as the documents say are left as they are.</p>
    <div class="graph" role="region" aria-label="Groups as a graph" tabindex="0">${graph}</div>
    ${renderTable(['Group', 'Its failure fails all', 'After', 'Nodes', 'Which'], rows)}`;
}
