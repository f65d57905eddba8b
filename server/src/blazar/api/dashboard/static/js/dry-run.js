/** The dry run of what the user is about to do: asked when he pauses, and only the last answer is told. */

const PAUSE = 300;

export class DryRun {
  /** @param {(refusal: unknown, answer?: unknown) => void} tell with null, and with the answer, where it would be done */
  constructor(tell) {
    this._tell = tell;
    this._waits = 0;
    this._asked = 0;
  }

  /** @param {() => Promise<unknown>} send */
  ask(send) {
    this.forget();
    const asked = this._asked;
    this._waits = window.setTimeout(async () => {
      const [refusal, answer] = await send().then(
        (done) => [null, done],
        (failure) => [failure, undefined],
      );
      if (asked === this._asked) this._tell(refusal, answer);
    }, PAUSE);
  }

  /** Tell nothing any more of what was asked for. */
  forget() {
    clearTimeout(this._waits);
    this._asked++;
  }
}
