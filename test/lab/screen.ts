import type { WriteStream } from 'node:tty';
import type { FlowView } from '#conductor/api/flows.ts';
import { describeFlowChanges, renderFlow } from '#conductor/cli/nodes/render-flow.ts';

/** Shows what the lab does: drawn over and over on a terminal, as plain lines of text anywhere else. */
export interface Screen {
  line(text: string): void;
  flow(node: string, flow: FlowView): void;
  /** Stops drawing; what is on the screen stays. */
  close(): void;
}

export function openScreen(output: WriteStream | NodeJS.WriteStream, startedMs: number): Screen {
  const stamp = (): string => `${((performance.now() - startedMs) / 1000).toFixed(1).padStart(6)} s  `;
  return output.isTTY ? drawnScreen(output, stamp) : plainScreen(output, stamp);
}

function plainScreen(output: NodeJS.WritableStream, stamp: () => string): Screen {
  const latest = new Map<string, FlowView>();
  const line = (text: string): void => void output.write(`${stamp()}${text}\n`);
  return {
    line,
    flow: (node, flow) => {
      for (const text of describeFlowChanges(latest.get(node), flow, new Date())) line(`${node}: ${text}`);
      latest.set(node, flow);
    },
    close: () => undefined,
  };
}

function drawnScreen(output: WriteStream | NodeJS.WriteStream, stamp: () => string): Screen {
  const flows = new Map<string, FlowView>();
  let drawn = 0;
  let open = true;
  const erase = (): void => {
    if (drawn > 0) output.write(`\x1b[${drawn}A\x1b[J`);
    drawn = 0;
  };
  const draw = (): void => {
    if (!open) return;
    erase();
    const lines = [...flows].flatMap(([node, flow]) => ['', node, ...renderFlow(flow, new Date())]);
    // what does not fit can't be drawn over: the terminal would have scrolled it away
    const visible = lines.slice(-Math.max(1, (output.rows || 40) - 1));
    for (const text of visible) output.write(`${text.slice(0, (output.columns || 120) - 1)}\n`);
    drawn = visible.length;
  };
  const timer = setInterval(draw, 500);
  return {
    line: (text) => {
      if (open) erase();
      output.write(`${stamp()}${text}\n`);
      draw();
    },
    flow: (node, flow) => void flows.set(node, flow),
    close: () => {
      clearInterval(timer);
      draw();
      open = false;
    },
  };
}
