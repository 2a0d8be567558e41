import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A fenced block of a guide. */
export interface GuideBlock {
  /** Path from the root of the repository: `docs/install.md`. */
  readonly page: string;
  /** Second-level heading that it stands under; '' = none yet. */
  readonly heading: string;
  /** Word behind the fence; '' = none. */
  readonly language: string;
  /** Line of its first content, counted from 1. */
  readonly line: number;
  readonly lines: readonly string[];
  /** Reason in `<!-- not run: reason -->` directly above the fence; absent = there is none. */
  readonly notRun?: string;
}

const root = join(import.meta.dirname, '../..');

/** Reads the README and all pages below `docs/`, generated ones too. */
export function readGuides(): GuideBlock[] {
  const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`)
    .sort();
  return ['README.md', ...pages].flatMap((page) => readBlocks(page, readFileSync(join(root, page), 'utf8')));
}

/** Finds the fenced blocks of a page. Pure. @throws Error for a fence that is never closed */
export function readBlocks(page: string, text: string): GuideBlock[] {
  const blocks: GuideBlock[] = [];
  let heading = '';
  let above = '';
  let open: { language: string; line: number; lines: string[]; notRun: string | undefined } | undefined;
  for (const [index, line] of text.split('\n').entries()) {
    const fence = /^ *```(.*)$/.exec(line);
    if (open && fence) {
      const { notRun, ...rest } = open;
      blocks.push({ page, heading, ...rest, ...(notRun === undefined ? {} : { notRun }) });
      open = undefined;
    } else if (open) {
      open.lines.push(line);
    } else if (fence) {
      const notRun = /^<!-- not run: *(.*?) *-->$/.exec(above)?.[1];
      open = { language: (fence[1] ?? '').trim(), line: index + 2, lines: [], notRun };
    } else {
      heading = /^## +(.*)$/.exec(line)?.[1] ?? heading;
    }
    above = line.trim();
  }
  if (open) throw new Error(`${page}:${open.line - 1}: the fence is not closed`);
  return blocks;
}

/** The commands under one heading of a page, which are run together. */
export interface GuideScript {
  /** `docs/sites.md: A first site`. */
  readonly name: string;
  /** Shell text whose line numbers are those of the page. */
  readonly text: string;
  /** Files that the section shows: blocks whose first line is `# NAME.yaml` or `# NAME.json`. */
  readonly files: ReadonlyMap<string, string>;
}

/** Joins the blocks that are to be run, by page and heading. Pure. */
export function scriptsOf(blocks: readonly GuideBlock[]): GuideScript[] {
  const sections = Map.groupBy(blocks, ({ page, heading }) => (heading === '' ? page : `${page}: ${heading}`));
  return [...sections].flatMap(([name, section]) => {
    const commands = section.filter(({ language, notRun }) => language === 'sh' && notRun === undefined);
    if (commands.length === 0) return [];
    const lines: string[] = [];
    for (const block of commands) {
      while (lines.length < block.line - 1) lines.push('');
      lines.push(...block.lines);
    }
    return [{ name, text: lines.join('\n'), files: filesOf(section) }];
  });
}

function filesOf(blocks: readonly GuideBlock[]): Map<string, string> {
  return new Map(
    blocks.flatMap(({ lines }) => {
      const name = /^# ([\w.-]+\.(?:ya?ml|json|csv|py))$/.exec(lines[0] ?? '')?.[1];
      return name === undefined ? [] : [[name, `${lines.slice(1).join('\n')}\n`] as const];
    }),
  );
}
