"""Function words of many languages: articles, prepositions, conjunctions, pronouns, auxiliary verbs.

Running text of any of these languages is full of them, while menus, lists of names and code have few. Words that menus
like ("about", "all", "more", "my") are left out. A word is a number of 64 bits, so none has more than eight bytes.
"""

import numpy as np
from numpy.typing import NDArray

from samehand.kernels.hashing import GOLDEN

SLOT_BITS = 12
LONGEST = 8
"""Bytes of the longest function word."""

WORDS = (
    # English
    "the of and to a in is that for it as was with be by on not he this are or his from at which but have an had they"
    " you were their one we can her has there been if when will would who so no said what its into than them out only"
    " him do some could she me our then these any also how other may should because while where such being i very just"
    " does did must those each between through after before under over again until"
    # German
    " der die und den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er hat dass"
    " sie nach wird bei einer um am sind noch wie einem einen so zum war haben nur oder aber vor zur bis durch sein"
    " wurde wenn können kann ihre ich wir ihr man doch"
    # French
    " le la les de et des un une du en est que qui dans pour pas sur au plus par avec il ne se ce son sont aux ont"
    " cette mais comme ou si leur elle nous vous été même ses sans être fait deux aussi je l d qu"
    # Spanish, Portuguese, Catalan
    " el los del las y por con para como su lo pero sus este ya entre cuando muy sin sobre ser tiene también hasta hay"
    " donde desde todo nos durante uno ni ese eso había é da do na os dos uma em não ao ele das à seu sua quando muito"
    " já está eu isso pela até foi pelo mas amb és els més ha va aquest"
    # Italian
    " il di è che non per una sono della con si anche nel alla più dei le ma gli come dal lo ed delle al questo ha sua"
    " degli nella o e i dalla ai perché essere stato fra"
    # Dutch
    " van het een dat zijn op te voor met aan er niet ook bij naar dan zich of uit om wordt worden deze maar heeft ze"
    " kan hebben wel nog we mijn hij"
    # Swedish, Danish, Norwegian
    " och att som på är av för den till med det har inte om ett de från var vid så kan han men eller sig efter og til"
    " af er ikke der fra blev vi jeg du hun ble være kunne"
    # Finnish, Estonian
    " ja on ei että se oli hän mutta ovat kuin tai myös joka niin ole sen kun vain mitä sekä nyt ning kui see oma aga"
    # Polish, Czech, Slovak, Slovene, Croatian, Serbian
    " się na nie do jest że jak po co ale przez za od dla są tylko przy już lub oraz je že se jsou jako ve pro by jeho"
    " pri alebo sa som bol čo ako pre ki iz tudi bil pa so ter koji kako je su nije ili kao biti što sam će bi"
    # Hungarian, Romanian, Turkish
    " az és hogy nem egy is volt ez csak már meg azt mint kell még vagy și la din cu pe nu care mai este sunt sau fi"
    " prin să ce bir ve bu için çok daha ile olarak gibi olan da de ne var ama kadar sonra"
    # Indonesian, Vietnamese
    " yang dan di dari dengan untuk pada ini itu dalam tidak adalah oleh akan juga và của là có không cho các được"
    " với một trong những người khi đã"
    # Russian, Ukrainian, Bulgarian, Serbian
    " и в не на с что по как это из он за но у так от к же для его бы до или все мы вы я а то о є та що як до від це за"
    " і й се да от ще са на ли je u za od"
    # Greek
    " το και του η της ο να με τα για των από που τη στην στο είναι σε θα τον δεν ότι οι μας αν"
)


def slots() -> NDArray[np.uint64]:
    """A hash table of the words, with linear probing; 0 is an empty slot."""
    table = np.zeros(1 << SLOT_BITS, np.uint64)
    for word in sorted(set(WORDS.split())):
        spelling = word.encode()
        if len(spelling) > LONGEST:
            continue
        key = int.from_bytes(spelling, "little")
        slot = (key * int(GOLDEN) & 0xFFFFFFFFFFFFFFFF) >> (64 - SLOT_BITS)
        while table[slot] and int(table[slot]) != key:
            slot = (slot + 1) & ((1 << SLOT_BITS) - 1)
        table[slot] = key
    return table
