/** Why a document can't be rendered; `name` is that of Deckhand's exception. */
export class RenderError extends Error {
  override readonly name: string;
  /** Within the document: `metadata.substitutions[2].src`. */
  readonly path: string | undefined;

  constructor(name: string, message: string, path?: string) {
    super(message);
    this.name = name;
    this.path = path;
  }
}
