import { SaxesParser } from 'saxes';
import { AppError } from '#shared/errors/app-error.ts';

/** An element without its namespace: vendors' prefixes differ, the names that are read do not. */
export interface XmlElement {
  readonly name: string;
  readonly children: readonly XmlElement[];
  /** Its own, without white space around it. */
  readonly text: string;
}

const maximumDepth = 64;
/** Each takes some hundred bytes, whatever its text. */
const maximumElements = 400_000;

/** @throws AppError `switch_error` for what is not XML, for a document type (entities hide what a text costs), too deep, too many. */
export function parseXml(text: string): XmlElement {
  const parser = new SaxesParser();
  const open: { name: string; children: XmlElement[]; text: string }[] = [{ name: '', children: [], text: '' }];
  const refuse = (why: string): never => {
    throw new AppError('switch_error', `the switch's answer is not XML that is read here: ${why}`);
  };
  parser.on('error', ({ message }) => refuse(message));
  parser.on('doctype', () => refuse('it has a document type'));
  let elements = 0;
  parser.on('opentag', ({ name }) => {
    elements += 1;
    if (elements > maximumElements) refuse(`more than ${maximumElements} elements`);
    if (open.length > maximumDepth) refuse(`deeper than ${maximumDepth}`);
    open.push({ name: name.replace(/^.*:/, ''), children: [], text: '' });
  });
  const addText = (more: string): void => {
    const last = open.at(-1);
    if (last) last.text += more;
  };
  parser.on('text', addText);
  parser.on('cdata', addText);
  parser.on('closetag', () => {
    const ended = open.pop();
    if (ended) open.at(-1)?.children.push({ ...ended, text: ended.text.trim() });
  });
  parser.write(text).close();
  return open[0]?.children[0] ?? refuse('it is empty');
}

/** All below, along the names. */
export function elementsAt(element: XmlElement, ...path: readonly string[]): readonly XmlElement[] {
  return path.reduce<readonly XmlElement[]>(
    (found, name) => found.flatMap(({ children }) => children.filter((child) => child.name === name)),
    [element],
  );
}

export function textAt(element: XmlElement, ...path: readonly string[]): string | undefined {
  return elementsAt(element, ...path)[0]?.text;
}

export function allText({ text, children }: XmlElement): string {
  return [text, ...children.map(allText)].filter((each) => each !== '').join('\n');
}

export function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
